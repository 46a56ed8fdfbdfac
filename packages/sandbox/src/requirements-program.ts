/**
 * Reads the dependencies of a project inside the sandbox and compares them with what its Python has. Writes
 * /job/build/requirements.json: {"missing": [{"text", "installed", "needed_by"}], "invalid": [{"text", "at"}], "notes":
 * […]}.
 *
 * Pyproject.toml, setup.py and setup.cfg say what the project needs. A requirements.txt often lists the tools of its
 * author as well, so it counts only if the others name nothing. setup.py runs with a `setup` that only records its
 * arguments, so that nothing is installed.
 */
export const readRequirements = String.raw`
import glob, importlib, json, os, re, runpy, sys
from importlib import metadata

SRC = "/job/src"
missing, invalid, notes = [], [], []
place = lambda file, line=None: os.path.relpath(file, SRC) + ("" if line is None else " line %d" % line)

def of_pyproject():
    file = os.path.join(SRC, "pyproject.toml")
    if not os.path.exists(file):
        return []
    try:
        import tomllib
    except ImportError:
        from pip._vendor import tomli as tomllib
    with open(file, "rb") as stream:
        content = tomllib.load(stream)
    project, tools = content.get("project") or {}, content.get("tool") or {}
    found = [(text, "pyproject.toml") for text in project.get("dependencies") or []]
    if "dependencies" in (project.get("dynamic") or []):
        dynamic = ((tools.get("setuptools") or {}).get("dynamic") or {}).get("dependencies") or {}
        files = dynamic.get("file") or [] if isinstance(dynamic, dict) else []
        for name in [files] if isinstance(files, str) else files:
            found += of_requirements(os.path.join(SRC, name))
    if not found and (tools.get("poetry") or {}).get("dependencies"):
        notes.append("pyproject.toml: tool.poetry.dependencies is not read. Name the dependencies in project.dependencies or in requirements.txt.")
    return found

def of_setup():
    if not os.path.exists(os.path.join(SRC, "setup.py")):
        return []
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
    wanted = heard.get("install_requires") or []
    return [(text, "setup.py") for text in (wanted.splitlines() if isinstance(wanted, str) else list(wanted))]

def of_setup_cfg():
    import configparser
    config = configparser.ConfigParser(interpolation=None, strict=False)
    config.read(os.path.join(SRC, "setup.cfg"), encoding="utf-8")
    wanted = config.get("options", "install_requires", fallback="")
    return [(text, "setup.cfg") for text in wanted.splitlines()]

# What pip accepts in such a file, with the encodings that pip accepts: PowerShell writes UTF-16.
MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

def lines_of(file):
    with open(file, "rb") as stream:
        content = stream.read(1 << 20)
    encoding = next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
    joined, first = "", 0
    for number, line in enumerate(content.decode(encoding).lstrip("\ufeff").splitlines(), 1):
        first = first if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        text = re.sub(r"(^|\s+)#.*$", "", joined + line).strip()
        joined = ""
        if text:
            yield first, text
    if joined.strip():
        yield first, joined.strip()

OPTION = re.compile(r"^(--?[A-Za-z][A-Za-z-]*)(?:\s*=\s*|\s+)?(.*)$")
SHORT = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable"}
constraints = []

def of_requirements(file, seen=(), into=None):
    found = [] if into is None else into
    real, root = os.path.realpath(file), os.path.realpath(SRC)
    if not real.startswith(root + os.sep):
        invalid.append({"text": os.path.basename(file), "at": "a file outside of the project"})
        return found
    if real in seen or len(seen) > 20:
        return found
    try:
        lines = list(lines_of(real))
    except (OSError, UnicodeError) as error:
        invalid.append({"text": str(error), "at": place(file)})
        return found
    for number, text in lines:
        at = place(file, number)
        if text[:2] in SHORT and text[1:2] != "-" and not text.startswith("--"):
            text = SHORT[text[:2]] + " " + text[2:].strip()
        option = OPTION.match(text)
        if option is None:
            text = re.split(r"\s--[a-z]", text)[0].strip()
            if text not in (".", "./"):
                found.append((text, at))
            continue
        name, value = option.group(1), option.group(2).strip().strip("\"'")
        other = os.path.join(os.path.dirname(file), value)
        if name == "--requirement":
            of_requirements(other, (*seen, real), found)
        elif name == "--constraint":
            of_requirements(other, (*seen, real), constraints)
        elif name == "--editable":
            if os.path.realpath(other) != root:
                found.append((value, at))
        else:
            notes.append("%s: %s is not followed. Packages come from the sources that the operator of the runner allows." % (at, name))
    return found

def requirement_class():
    bundled = []
    try:
        import ensurepip
        bundled = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
    except ImportError:
        pass
    bundled += glob.glob("/usr/share/python-wheels/pip-*.whl")
    for path in (None, *bundled):
        if path is not None:
            sys.path.append(path)
        for name in ("packaging", "pip._vendor.packaging", "setuptools._vendor.packaging", "setuptools.extern.packaging"):
            try:
                return importlib.import_module(name + ".requirements").Requirement
            except Exception:
                sys.modules.pop(name, None)
    return None

def version_of(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

canonical = lambda name: re.sub(r"[-_.]+", "-", name).lower()

def holds(marker, extras):
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)

def compare(wanted, needed_by, seen):
    if (str(wanted), needed_by) in seen:
        return
    seen.add((str(wanted), needed_by))
    wanted.marker = None
    version = version_of(wanted.name)
    if version is None or not wanted.specifier.contains(version, prereleases=True):
        missing.append({"text": str(wanted), "installed": version, "needed_by": needed_by})
        return
    for extra in wanted.extras:
        for line in metadata.requires(wanted.name) or []:
            part = Requirement(line)
            if part.marker is not None and not holds(part.marker, [""]) and holds(part.marker, [extra, canonical(extra)]):
                compare(part, "%s[%s]" % (wanted.name, extra), seen)

def compare_all(wanted):
    limits = {}
    for text, at in constraints:
        try:
            one = Requirement(text)
        except Exception:
            invalid.append({"text": text, "at": at})
            continue
        if holds(one.marker, [""]):
            limits.setdefault(canonical(one.name), []).append(one.specifier)
    seen = set()
    for text, at in wanted:
        try:
            one = Requirement(text)
        except Exception:
            invalid.append({"text": text, "at": at})
            continue
        if not holds(one.marker, [""]):
            continue
        for limit in limits.get(canonical(one.name), []):
            one.specifier &= limit
        if one.url is not None and version_of(one.name) is None:
            invalid.append({"text": text, "at": at})
        else:
            one.url = None
            compare(one, None, seen)

wanted = of_pyproject() or of_setup() or of_setup_cfg()
wanted = [(text.strip(), at) for text, at in wanted if text.strip() and not text.strip().startswith("#")]
file = os.path.join(SRC, "requirements.txt")
if os.path.exists(file):
    if wanted:
        notes.append("requirements.txt is not read, because %s names dependencies." % wanted[0][1])
    else:
        wanted = of_requirements(file)
Requirement = requirement_class()
if Requirement is not None:
    compare_all(wanted)
else:
    # Without a parser only names can be compared.
    for text, at in wanted:
        name = re.match(r"[A-Za-z0-9._-]*", text).group()
        if ";" not in text and version_of(name) is None:
            missing.append({"text": text, "installed": None, "needed_by": None})
with open("/job/build/requirements.json", "w") as stream:
    json.dump({"missing": missing, "invalid": invalid, "notes": notes}, stream)
`;
