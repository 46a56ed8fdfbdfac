/** Helper programs that the operator's Python runs inside the sandbox. */

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
