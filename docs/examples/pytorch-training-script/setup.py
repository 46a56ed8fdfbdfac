from setuptools import find_packages, setup

setup(
    name="timm-classifier",
    version="1.0.0",
    packages=find_packages(),
    install_requires=["torch>=2.1", "timm>=1.0", "pillow>=10", "onnx>=1.16"],
)
