from setuptools import find_packages, setup

setup(
    name="gpu-script",
    version="1.0.0",
    packages=find_packages(),
    # torch, numpy and pillow come with the Python that the bench names.
    install_requires=[],
)
