package modelimport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// stagingMark is in the names of staging folders. They also begin with a dot, so no server loads them.
const stagingMark = ".retort-staging."

// makeStaging creates a staging folder in the repository, whose name has the name of its entry. release removes it.
//
// A process holds a lock on each of its staging folders. The folders of processes that were killed have none, and the
// next process removes them.
func makeStaging(repository, name string) (dir string, release func(), err error) {
	if err := os.MkdirAll(repository, 0o755); err != nil {
		return "", nil, err
	}
	if err := removeOrphans(repository); err != nil {
		return "", nil, err
	}
	for {
		dir, err = os.MkdirTemp(repository, "."+name+stagingMark+"*")
		if err != nil {
			return "", nil, err
		}
		lock, err := lockFolder(dir)
		if err == nil && exists(dir) { // else another process took it for an orphan before it was locked
			release = func() {
				_ = os.RemoveAll(dir)
				_ = lock.Close()
			}
			return dir, release, nil
		}
		if lock != nil {
			_ = lock.Close()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
}

// removeOrphans removes the staging folders that no process holds.
func removeOrphans(repository string) error {
	files, err := os.ReadDir(repository)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !file.IsDir() || !strings.HasPrefix(file.Name(), ".") || !strings.Contains(file.Name(), stagingMark) {
			continue
		}
		path := filepath.Join(repository, file.Name())
		lock, err := lockFolder(path)
		if err != nil {
			continue // in use
		}
		err = os.RemoveAll(path)
		_ = lock.Close()
		if err != nil {
			return fmt.Errorf("the staging folder of a killed process cannot be removed: %w", err)
		}
	}
	return nil
}

// lockFolder locks a folder until the file is closed, or fails if another process holds it.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// replaceFolder moves a folder to target in one step. If target exists, the two change places, and the old content of
// target is in folder then.
func replaceFolder(folder, target string) error {
	if !exists(target) {
		return os.Rename(folder, target)
	}
	err := unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, target, unix.RENAME_EXCHANGE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// The file system cannot exchange folders, so the entry is missing for a moment.
	old := folder + ".old"
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(folder, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.Rename(old, folder)
}
