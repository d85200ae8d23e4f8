"""An image's command, shut in as ``compose.yaml`` has it: no rights, a root that is read-only, no capabilities."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .building import Image

# Mounts of its own; what is written has the places that a container has. At last the rights are given away for good.
SCRIPT = """
set -eu
root=$1 data=$2 cache=$3 config=$4 user=$5 group=$6
shift 6
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero full random urandom; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
mount --bind "$cache" "$root/cache"
mkdir -p "$root/etc/clawdbot"
mount --bind "$config" "$root/etc/clawdbot"
mount -o remount,bind,ro "$root/etc/clawdbot"
mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/setpriv --reuid="$user" --regid="$group" --clear-groups --inh-caps=-all \\
    --bounding-set=-all --no-new-privs /usr/bin/env -i -C /data "$@"
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


class Sealed:
    """A container of ``image``, without the program that would make it one; ``folder`` has its volumes."""

    def __init__(self, image: Image, folder: Path) -> None:
        self._image = image
        self.user, self._group = (int(number) for number in image.user.split(":"))
        self.data, self.cache, self.config = (folder / name for name in ("data", "cache", "config"))
        for place in (self.data, self.cache, self.config):
            place.mkdir(parents=True)
        for place in (self.data, self.cache):
            self.own(place)

    def own(self, path: Path) -> None:
        """Give ``path`` to the container's user, as its volumes are."""
        for one in (path, *path.rglob("*")):
            os.chown(one, self.user, self._group)

    def enter(self, *arguments: str) -> Ended:
        """What the image is for, with arguments."""
        return self.run(*self._image.entrypoint, *arguments)

    def run(self, *command: str) -> Ended:
        """Run ``command`` in it, with the image's own environment."""
        places = [str(one) for one in (self._image.root, self.data, self.cache, self.config)]
        environment = [f"{name}={value}" for name, value in self._image.environment.items()]
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "sh", "-c", SCRIPT, "sh"]
        asked = [*apart, *places, str(self.user), str(self._group), *environment, *command]
        ended = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return Ended(ended.returncode, ended.stdout, ended.stderr)
