from setuptools import find_packages, setup

setup(
    name="keras-classifier",
    version="1.0.0",
    packages=find_packages(),
    # With a GPU the container has tensorflow[and-cuda], which brings the same modules.
    install_requires=["keras>=3", "pillow>=10"],
)
