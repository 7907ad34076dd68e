#!/bin/sh
# Runs the tests of the sandbox in a virtual machine whose control groups are delegated as systemd does: as root
# and as a user, with and without user namespaces. It needs qemu-system-x86_64, a static busybox and a kernel:
#
#   apt-get download linux-image-cloud-amd64 && dpkg -x linux-image-*.deb kernel
#   make vm KERNEL=kernel/boot/vmlinuz-…
set -eu
kernel=${1:?the path of a kernel, such as /boot/vmlinuz-6.1.0-cloud-amd64}
cd "$(dirname "$0")/../../../.."
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
root=$dir/root
mkdir -p "$root/bin" "$root/etc" "$root/proc" "$root/sys" "$root/dev" "$root/tests"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sandbox lambda handlers; do
	CGO_ENABLED=0 go test -c -ldflags '-s -w' -o "$root/tests/$name" "./internal/$name"
done
echo 'root:x:0:0::/:/bin/sh
nobody:x:65534:65534::/:/bin/sh' >"$root/etc/passwd"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc none /proc
if [ ! -e /switched ]; then # the first root cannot be changed for another one
	mkdir /new
	mount -t tmpfs -o size=80% none /new
	cp -a /bin /etc /tests /init /new/
	cd /new && mkdir proc sys dev tmp root && chmod 1777 tmp && touch switched
	umount /proc
	exec switch_root /new /init
fi
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t cgroup2 none /sys/fs/cgroup
ifconfig lo 127.0.0.1
echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
failed= runs=0
run() { # run USER EXPECTED TEST ARGUMENT…: in a control group of its own, delegated unless EXPECTED is empty
	user=$1 expected=$2 test=$3
	shift 3
	runs=$((runs + 1))
	group=/sys/fs/cgroup/test-$runs.scope
	mkdir "$group"
	if [ "$expected" ]; then
		chown "$user" "$group" "$group/cgroup.procs" "$group/cgroup.subtree_control" "$group/cgroup.threads"
		TEST_ROLE=delegate /tests/sandbox "$group" || failed=1
	fi
	mkdir -p "/tmp/$user" && chown "$user" "/tmp/$user"
	echo "=== $test as $user, delegated: ${expected:-no}, user namespaces: $(cat /proc/sys/user/max_user_namespaces)"
	sh -c 'echo $$ >"$0/cgroup.procs"; user=$1; shift; cd /; export TMPDIR=/tmp/$user HOME=/tmp/$user FORMWORK_EXPECT_CONTROL_GROUPS='"$expected"'
		[ "$user" != root ] || exec "$@"; exec su -s /bin/sh "$user" -c "cd /; exec $(printf "'"'"'%s'"'"' " "$@")"' "$group" "$user" "/tests/$test" -test.v "$@" >/tmp/out 2>&1
	code=$?
	grep -E '^ *--- |^ +[a-z_]+_test.go:|^panic|^FAIL|^PASS' /tmp/out
	[ $code = 0 ] || failed=1
}
all() { # all USER EXPECTED
	run "$1" "$2" sandbox
	run "$1" "$2" lambda -test.run='TestInSandbox|TestMemoryLimit|TestWithoutSandbox|TestControlGroups'
}
hostile='TestHostileHandlers/go/(removes|reads|writes|gains|opens|leaves)|TestKilledServer|TestWithoutNamespaces'
all root yes
run root yes handlers -test.run="$hostile"
all nobody yes
run nobody yes handlers -test.run="$hostile"
echo 0 >/proc/sys/user/max_user_namespaces
all nobody yes
run nobody yes handlers -test.run="$hostile"
all nobody ''
echo "RESULT ${failed:-0}"
poweroff -f
INIT
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$dir/initramfs"
qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 3G -smp 2 -nographic -no-reboot -nodefaults -serial stdio \
	-kernel "$kernel" -initrd "$dir/initramfs" -append "console=ttyS0 loglevel=1 panic=-1 no_timer_check cgroup_no_v1=all" | tee "$dir/log"
grep -q '^RESULT 0' "$dir/log"
