from setuptools import find_packages, setup

setup(
    name="color-classifier",
    version="1.0.0",
    packages=find_packages(),
    # Only what the container does not have is installed.
    install_requires=["numpy>=1.24", "pillow>=10", "onnx>=1.16"],
)
