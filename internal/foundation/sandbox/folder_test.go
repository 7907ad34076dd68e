package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

func TestFoldersArePrivateAndRemoved(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	first, err := sandbox.NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	second, err := sandbox.NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{first.Tmp, first.Home, second.Tmp, second.Home}
	slices.Sort(dirs)
	if len(slices.Compact(dirs)) != 4 {
		t.Errorf("folders are shared: %q", dirs)
	}
	canary := filepath.Join(second.Tmp, "canary")
	outside := filepath.Join(t.TempDir(), "outside")
	for _, path := range []string{canary, outside, filepath.Join(first.Tmp, "file")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(first.Tmp, "link")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{first.Tmp: false, first.Home: false, canary: true, outside: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s after the removal: %v", path, err)
		}
	}
	if err := second.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(base); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty base is left: %v", err)
	}
}

func TestFoldersOfKilledProgramsAreSwept(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	old := time.Now().Add(-2 * time.Hour)
	programFolder := func(name string, lock bool, changed time.Time) string {
		t.Helper()
		dir := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Join(dir, "1", "tmp"), 0o700); err != nil {
			t.Fatal(err)
		}
		if lock {
			if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir, changed, changed); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		t.Fatal(err)
	}
	killed, unlocked := programFolder("program-1", true, time.Now()), programFolder("program-2", false, old)
	starting, other := programFolder("program-3", false, time.Now()), programFolder("else", true, old)
	folder, err := sandbox.NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Remove()
	for dir, want := range map[string]bool{killed: false, unlocked: false, starting: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s after the sweep: %v", filepath.Base(dir), err)
		}
	}
	if _, err := os.Stat(folder.Tmp); err != nil {
		t.Error(err)
	}
}

func TestFolderOfAnotherUserIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folder for temporary files is the user's own")
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	link, open := filepath.Join(dir, "link"), filepath.Join(dir, "open")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{link, open} {
		if _, err := sandbox.NewFolder(base); err == nil || !strings.Contains(err.Error(), "does not belong to this user") {
			t.Errorf("%s: %v", filepath.Base(base), err)
		}
	}
	if left, err := os.ReadDir(target); err != nil || len(left) > 0 {
		t.Errorf("behind the link: %v, %v", left, err)
	}
}

func TestEnvironOfFolder(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a base")
	folder, err := sandbox.NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Remove()
	env := folder.Environ()
	for _, want := range []string{
		"TMPDIR=" + folder.Tmp, "TMP=" + folder.Tmp, "TEMP=" + folder.Tmp, "HOME=" + folder.Home,
		`JAVA_TOOL_OPTIONS="-Djava.io.tmpdir=` + folder.Tmp + `" "-Duser.home=` + folder.Home + `"`,
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
}
