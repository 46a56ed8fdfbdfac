/** Helper programs that the operator's Python runs inside the sandbox. */

/**
 * Writes the project's dependencies to /job/build/requirements.json: {"wanted": […], "missing": […]}. It runs setup.py
 * with a `setup` that only records its arguments, so the requirements are known without an installation.
 */
export const readRequirements = `
import json, os, runpy, sys

SRC = "/job/src"

def of_pyproject():
    file = os.path.join(SRC, "pyproject.toml")
    if not os.path.exists(file):
        return None
    try:
        import tomllib
    except ImportError:
        from pip._vendor import tomli as tomllib
    with open(file, "rb") as stream:
        project = tomllib.load(stream).get("project")
    return None if project is None else project.get("dependencies")

def of_setup():
    heard = {}
    def setup(*args, **given):
        heard.update(given)
    try:
        import setuptools
    except ImportError:
        import types
        setuptools = types.ModuleType("setuptools")
        setuptools.find_packages = setuptools.find_namespace_packages = lambda *args, **given: []
        sys.modules["setuptools"] = setuptools
    setuptools.setup = setup
    try:
        import distutils.core
        distutils.core.setup = setup
    except ImportError:
        pass
    os.chdir(SRC)
    sys.path.insert(0, SRC)
    sys.argv = ["setup.py", "--version"]
    try:
        runpy.run_path("setup.py", run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    found = heard.get("install_requires") or []
    return found.splitlines() if isinstance(found, str) else list(found)

def is_missing(text):
    from importlib import metadata
    try:
        try:
            from packaging.requirements import Requirement
        except ImportError:
            from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        return True
    wanted = Requirement(text)
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return False
    try:
        return not wanted.specifier.contains(metadata.version(wanted.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return True

wanted = of_pyproject()
if wanted is None and os.path.exists(os.path.join(SRC, "setup.py")):
    wanted = of_setup()
wanted = [line.strip() for line in wanted or [] if line.strip() and not line.strip().startswith("#")]
with open("/job/build/requirements.json", "w") as stream:
    json.dump({"wanted": wanted, "missing": [text for text in wanted if is_missing(text)]}, stream)
`;

/**
 * Creates a virtual environment in /job/env that sees the packages of its interpreter. Then it runs pip with the
 * arguments and exits with pip's exit code.
 */
export const buildEnvironment = `
import glob, os, shutil, subprocess, sys, sysconfig, venv

TARGET = "/job/env"
venv.create(TARGET, system_site_packages=True, with_pip=False, symlinks=True)
python = os.path.join(TARGET, "bin", "python")
if sys.prefix != sys.base_prefix:
    # The interpreter is one of a virtual environment itself, whose packages would not be seen.
    site = os.path.join(TARGET, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    paths = sysconfig.get_paths()
    with open(os.path.join(site, "parent.pth"), "w") as stream:
        stream.write("\\n".join(sorted({paths["purelib"], paths["platlib"]})) + "\\n")
scratch = os.path.join(TARGET, "scratch")
os.mkdir(scratch)
env = dict(os.environ, TMPDIR=scratch)
if subprocess.run([python, "-c", "import pip"], capture_output=True).returncode != 0:
    import ensurepip
    wheels = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
    wheels += glob.glob("/usr/share/python-wheels/pip-*.whl")
    if not wheels:
        print("ERROR: this Python has no pip (Debian: apt-get install python3-venv python3-pip).", file=sys.stderr)
        sys.exit(3)
    env["PYTHONPATH"] = wheels[-1]
code = subprocess.run([python, "-m", "pip", "install", *sys.argv[1:]], env=env).returncode
shutil.rmtree(scratch, ignore_errors=True)
sys.exit(code)
`;

/** Closes the descriptors that the runner inherited, which no program before it does, and executes the command. */
const closeAll = 'import os, sys; os.closerange(3, 65536); os.execv(sys.argv[1], sys.argv[1:])';

/** The command of a sandbox that runs `python` (the environment's, or one derived from it) with these arguments. */
export const pythonCommand = (
  environment: { readonly python: string },
  python: string,
  words: readonly string[],
): string[] => [
  environment.python,
  // Isolated and without site packages: no code of the script runs yet.
  '-I',
  '-S',
  '-c',
  closeAll,
  python,
  ...words,
];
