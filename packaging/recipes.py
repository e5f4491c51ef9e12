"""Fills the Homebrew and conda-forge recipes in from a source distribution: ``recipes.py SDIST FOLDER``.

Version, digest, requirements and commands are those of the distribution's own metadata.
"""

import hashlib
import re
import sys
import tarfile
import tomllib
from collections.abc import Iterable
from email.message import Message
from email.parser import Parser
from pathlib import Path

TEMPLATES = Path(__file__).parent / "recipes"


def filled(template: str, values: dict[str, str]) -> str:
    """Text with each ``@NAME@`` replaced; KeyError for a name that has no value."""
    return re.sub(r"@([A-Z0-9_]+)@", lambda match: values[match[1]], template)


def values_of(sdist: Path) -> dict[str, str]:
    """{name: value} of everything that a template may ask for."""
    with tarfile.open(sdist) as tar:
        root = tar.getnames()[0].split("/")[0]
        metadata = Parser().parsestr(_text(tar, f"{root}/PKG-INFO"))
        project = tomllib.loads(_text(tar, f"{root}/pyproject.toml"))
    name, version = metadata["Name"], metadata["Version"]
    commands = project["project"]["scripts"].items()
    return {
        "VERSION": version,
        "SUMMARY": metadata["Summary"],
        "HOMEPAGE": project["project"]["urls"]["Homepage"],
        "URL": f"https://files.pythonhosted.org/packages/source/{name[0]}/{name}/{name}-{version}.tar.gz",
        "SHA256": hashlib.sha256(sdist.read_bytes()).hexdigest(),
        "ENTRY_POINTS": _listed(6, (f"{command} = {function}" for command, function in commands)),
        "BUILD": _listed(4, map(_conda, project["build-system"]["requires"])),
        "RUN": _listed(4, _required(metadata)),
    }


def _text(tar: tarfile.TarFile, name: str) -> str:
    member = tar.extractfile(name)
    if member is None:
        raise KeyError(f"{name} is no file")
    return member.read().decode()


def _required(metadata: Message) -> list[str]:
    """Requirements without extras; of several lines for one package the lowest bound."""
    found: dict[str, str] = {}
    for line in metadata.get_all("Requires-Dist", []):
        requirement, _, marker = line.partition(";")
        if "extra ==" not in marker:
            found.setdefault(re.split(r"[><=~! ]", requirement)[0], _conda(requirement))
    return sorted(found.values())


def _conda(requirement: str) -> str:
    """``numpy>=2.0`` as conda writes it."""
    return re.sub(r"\s*(>=)\s*", r" \1", requirement.strip())


def _listed(indent: int, lines: Iterable[str]) -> str:
    return "\n".join(f"{' ' * indent}- {line}" for line in lines)


def main() -> None:
    """Write the recipes."""
    sdist, folder = map(Path, sys.argv[1:])
    values = values_of(sdist)
    for template in sorted(TEMPLATES.iterdir()):
        (folder / template.name).write_text(filled(template.read_text(), values))


if __name__ == "__main__":
    main()
