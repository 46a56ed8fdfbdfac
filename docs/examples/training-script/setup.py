from setuptools import find_packages, setup

setup(
    name="centroid",
    version="1.0.0",
    packages=find_packages(),
    # Nothing but Python itself: it runs in every container.
    install_requires=[],
)
