#!/bin/sh
# Makes the virtual environment FOLDER with Python VERSION from requirements.lock.
# Everything that can be known to fail is said before anything is installed.
#
# Usage: tools/setup.sh VERSION FOLDER
set -eu

version=$1
folder=$2
uv_folder=.tools/uv

refuse() {
    echo "setup: $1" >&2
    exit 1
}

check_system() {
    [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
        refuse "this project runs on Linux x86-64; this system is $(uname -s) $(uname -m)."
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
    [ -n "$glibc" ] ||
        refuse "TensorFlow's wheels need glibc; this system has another C library (musl?)."
    case $version in
    3.10) oldest=2.17 ;;
    3.11 | 3.12 | 3.13) oldest=2.39 ;;
    *) refuse "PYTHON=$version is not supported; use 3.10 (the default), or 3.11 to 3.13 on glibc >= 2.39." ;;
    esac
    [ "$(printf '%s\n' "$oldest" "$glibc" | sort -V | head -n 1)" = "$oldest" ] ||
        refuse "Python $version needs glibc >= $oldest (TFX 1.21 has no wheels for older systems) and this system has $glibc; use the default, PYTHON=3.10."
    command -v g++ >/dev/null ||
        refuse "a C++ compiler is needed to build one dependency; install g++."
}

# An installed uv, or one from PyPI in a folder of this project.
find_uv() {
    if command -v uv >/dev/null; then
        command -v uv
        return
    fi
    [ -x $uv_folder/bin/uv ] ||
        python3 -m pip install --quiet --no-input --disable-pip-version-check --require-hashes \
            --target $uv_folder --requirement tools/uv.lock.txt >&2 ||
        refuse "uv could not be installed with pip; Python 3 with pip is needed."
    echo $uv_folder/bin/uv
}

# A system Python that uv finds, one of pyenv's that is not active, or else one that uv downloads.
find_python() {
    "$uv" python find --quiet --system --no-python-downloads "$version" 2>/dev/null && return
    for candidate in "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
        [ -x "$candidate" ] && echo "$candidate" && return
    done
    echo "$version"
}

check_system
uv=$(find_uv)
python=$(find_python)
"$uv" venv --quiet --allow-existing --python "$python" "$folder" ||
    refuse "Python $version was not found and could not be downloaded; install it (pyenv, a system package)."
echo "setup: installing the locked packages into $folder (about 3 GB; some minutes on a slow link)" >&2
"$uv" pip sync --quiet --require-hashes --python "$folder/bin/python" requirements.lock
