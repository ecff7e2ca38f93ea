#!/usr/bin/env bash
# Makes a Debian package from a gateway binary: build.sh BINARY VERSION FOLDER [NOTICES]. Prints the path of the package.
# NOTICES is a file with the licences of the works of others that the program contains. SOURCE_DATE_EPOCH is the time of
# all files, so that equal binaries give equal packages.
set -euo pipefail
umask 022
binary=$(realpath "$1")
version=$2
target=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

install -D -m 755 "$binary" "$root/usr/bin/retort"
strip --strip-unneeded "$root/usr/bin/retort"
install -D -m 644 "$here/retort.service" "$root/lib/systemd/system/retort.service"
install -D -m 644 "$here/retort.yaml" "$root/etc/retort/retort.yaml"
install -D -m 644 "$here/../../../LICENSE" "$root/usr/share/doc/retort/copyright"
if [ -n "${4:-}" ]; then install -m 644 "$4" "$root/usr/share/doc/retort/THIRD-PARTY-NOTICES.txt"; fi
"$binary" man --folder "$root/usr/share/man/man1" >&2
# The pages have today's date; a rebuild on another day must have the same bytes.
day=$(date --utc --date "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)
sed -i -E "1s/ \"[0-9]{4}-[0-9]{2}-[0-9]{2}\" / \"$day\" /" "$root"/usr/share/man/man1/*
gzip -9n "$root"/usr/share/man/man1/*
install -d "$root/usr/share/bash-completion/completions"
(cd "$root/usr/bin" && PATH="$PWD:$PATH" retort completion -c bash) | sed "s:$root::" > "$root/usr/share/bash-completion/completions/retort"

install -d "$root/DEBIAN"
echo /etc/retort/retort.yaml > "$root/DEBIAN/conffiles"
# The exact version of RDKit that the binary links: its libraries keep their names across incompatible versions.
rdkit=$(dpkg-query -W -f '${Version}' librdkit1)
cat > "$root/DEBIAN/control" <<CONTROL
Package: retort
Version: $version
Architecture: $architecture
Section: science
Priority: optional
Maintainer: Retort <retort@localhost>
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f 1)
Depends: libc6 (>= 2.36), libstdc++6 (>= 12), libcairo2, librdkit1 (= $rdkit), fonts-dejavu-core, ca-certificates
Description: inference APIs in front of Triton Inference Server
 Molecule generators, text embedding, passage ranking and vision-language chat
 over HTTP. Needs a Triton Inference Server and its model repository:
 /etc/retort/retort.yaml says where they are; then
 systemctl enable --now retort.
CONTROL
cat > "$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
# A running service is restarted with the new binary.
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if [ -n "$2" ]; then systemctl try-restart retort.service; fi
fi
SCRIPT
cat > "$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now retort.service; fi
SCRIPT
cat > "$root/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
# Removal keeps the jobs; --purge deletes them.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then rm -rf /var/lib/retort /var/lib/private/retort; fi
SCRIPT
chmod 755 "$root"/DEBIAN/p*
mkdir -p "$target"
dpkg-deb --root-owner-group -Zzstd --build "$root" "$target/retort_${version}_$architecture.deb" >&2
echo "$target/retort_${version}_$architecture.deb"
