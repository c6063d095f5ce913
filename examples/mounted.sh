#!/bin/sh
# Runs a command beside a new file system that lies on the NBD export $uri: sh mounted.sh FOLDER COMMAND...
#
#   halfturn serve --emulate st318437lw --size 2GiB --run 'sh mounted.sh slow ./my-test slow'
#
# The exit code is that of the command. It is for root, and needs nbdfuse (Debian: libnbd-bin), fuse3 and e2fsprogs.

set -eu
files=$1
shift
export=$(mktemp -d)
end() {
    umount "$files" 2>/dev/null || true
    fusermount3 -u "$export" 2>/dev/null || true
    wait
    rmdir "$export"
}
trap end EXIT

nbdfuse "$export" "$uri" &
until [ -e "$export/nbd" ]; do sleep 0.1; done
mkfs.ext4 -q -F "$export/nbd"
mkdir -p "$files"
mount -o loop "$export/nbd" "$files"
"$@"
