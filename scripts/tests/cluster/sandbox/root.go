package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sharedMemory is the size of a container's /dev/shm without a volume, as in container engines.
const sharedMemory = "size=64m"

// root mounts the container's root file system and returns its folder.
func (c *Container) root() (string, error) {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return "", err
	}
	root, err := c.layer()
	if err != nil {
		return "", fmt.Errorf("root: %w", err)
	}
	for _, mount := range []func(string) error{system, c.files, c.volumes} {
		if err := mount(root); err != nil {
			return "", err
		}
	}
	if c.ReadOnlyRoot {
		return root, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	}
	return root, nil
}

// layer mounts a layer in memory over this machine's root.
func (c *Container) layer() (string, error) {
	if err := unix.Mount("layer", c.Base, "tmpfs", 0, ""); err != nil {
		return "", err
	}
	upper := filepath.Join(c.Base, "upper")
	work := filepath.Join(c.Base, "work")
	root := filepath.Join(c.Base, "root")
	for _, folder := range []string{upper, work, root} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return "", err
		}
	}
	return root, unix.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work)
}

// system mounts what a container engine mounts: processes, devices and shared memory.
func system(root string) error {
	at := func(name string) string { return filepath.Join(root, name) }
	if err := unix.Mount("proc", at("proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	for _, folder := range []string{"dev", "sys"} {
		if err := unix.Mount("/"+folder, at(folder), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("/%s: %w", folder, err)
		}
	}
	if err := unix.Mount("shm", at("dev/shm"), "tmpfs", 0, sharedMemory); err != nil {
		return fmt.Errorf("/dev/shm: %w", err)
	}
	return nil
}

// files writes the container's files.
func (c *Container) files(root string) error {
	for name, text := range c.Files {
		path := filepath.Join(root, name)
		_ = os.Remove(path) // it may be a broken link
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// volumes mounts the volumes in the order given.
func (c *Container) volumes(root string) error {
	for _, m := range c.Mounts {
		if err := m.mount(filepath.Join(root, m.Target)); err != nil {
			return fmt.Errorf("volume %s: %w", m.Target, err)
		}
	}
	return nil
}

func (m Mount) mount(target string) error {
	if m.Memory {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return unix.Mount("volume", target, "tmpfs", 0, "mode=1777")
	}
	info, err := os.Stat(m.Source)
	if err != nil {
		return err
	}
	if err := makeTarget(target, info.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || !m.ReadOnly {
		return err
	}
	return unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// makeTarget makes the folder or file that a mount covers.
func makeTarget(target string, folder bool) error {
	if folder {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(target, os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}
