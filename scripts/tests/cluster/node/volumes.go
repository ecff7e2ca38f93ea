package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"retort-cluster-test/sandbox"
)

// volumes returns the container's mounts.
func (c *container) volumes(ctx context.Context) (mounts []sandbox.Mount, err error) {
	for _, m := range c.spec.VolumeMounts {
		mount, err := c.pod.volume(ctx, m.Name)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", m.Name, err)
		}
		if m.SubPath != "" {
			mount.Source = filepath.Join(mount.Source, m.SubPath)
		}
		mount.Target = m.MountPath
		mount.ReadOnly = m.ReadOnly
		mounts = append(mounts, mount)
	}
	return mounts, nil
}

func (p *pod) volume(ctx context.Context, name string) (sandbox.Mount, error) {
	for _, v := range p.object.Spec.Volumes {
		if v.Name == name {
			return p.source(ctx, &v)
		}
	}
	return sandbox.Mount{}, fmt.Errorf("the pod has no volume of that name")
}

// source makes or finds the folder of a volume.
func (p *pod) source(ctx context.Context, v *core.Volume) (mount sandbox.Mount, err error) {
	folder := filepath.Join(p.folder, "volumes", v.Name)
	mount.Source = folder
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return mount, err
	}
	_ = os.Chmod(folder, 0o777)
	switch {
	case v.EmptyDir != nil:
		mount.Memory = v.EmptyDir.Medium == core.StorageMediumMemory && len(p.object.Spec.Containers) == 1
	case v.HostPath != nil:
		mount.Source = v.HostPath.Path
	case v.PersistentVolumeClaim != nil:
		mount.Source, err = p.claim(ctx, v.PersistentVolumeClaim.ClaimName)
	case v.ConfigMap != nil:
		data, readErr := p.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Optional)
		err = write(folder, data, v.ConfigMap.Items, readErr)
	case v.Secret != nil:
		data, readErr := p.secret(ctx, v.Secret.SecretName, v.Secret.Optional)
		err = write(folder, data, v.Secret.Items, readErr)
	case v.Projected != nil:
		err = p.project(ctx, folder, v.Projected)
	default:
		err = fmt.Errorf("this node does not know the kind of volume")
	}
	return mount, err
}

// claim returns the folder of a claim's volume, which must be a hostPath.
func (p *pod) claim(ctx context.Context, name string) (string, error) {
	claim, err := p.node.client.CoreV1().PersistentVolumeClaims(p.object.Namespace).Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return "", err
	}
	if claim.Spec.VolumeName == "" {
		return "", fmt.Errorf("claim %s is not bound", name)
	}
	volume, err := p.node.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, meta.GetOptions{})
	if err != nil {
		return "", err
	}
	if volume.Spec.HostPath == nil {
		return "", fmt.Errorf("volume %s is not a hostPath", volume.Name)
	}
	return volume.Spec.HostPath.Path, nil
}

// project puts several sources into one folder.
func (p *pod) project(ctx context.Context, folder string, projected *core.ProjectedVolumeSource) error {
	for _, s := range projected.Sources {
		var err error
		switch {
		case s.ConfigMap != nil:
			data, readErr := p.configMap(ctx, s.ConfigMap.Name, s.ConfigMap.Optional)
			err = write(folder, data, s.ConfigMap.Items, readErr)
		case s.Secret != nil:
			data, readErr := p.secret(ctx, s.Secret.Name, s.Secret.Optional)
			err = write(folder, data, s.Secret.Items, readErr)
		case s.ServiceAccountToken != nil:
			err = p.token(ctx, filepath.Join(folder, s.ServiceAccountToken.Path), s.ServiceAccountToken.Audience)
		case s.DownwardAPI != nil:
			for _, item := range s.DownwardAPI.Items {
				if item.FieldRef != nil {
					value := p.field(item.FieldRef.FieldPath)
					err = os.WriteFile(filepath.Join(folder, item.Path), []byte(value), 0o644)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// token writes a token of the pod's service account.
func (p *pod) token(ctx context.Context, path, audience string) error {
	request := &authentication.TokenRequest{}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	accounts := p.node.client.CoreV1().ServiceAccounts(p.object.Namespace)
	answer, err := accounts.CreateToken(ctx, p.object.Spec.ServiceAccountName, request, meta.CreateOptions{})
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(answer.Status.Token), 0o644)
}

// write writes values as files: all under their keys, or only items. It returns readErr, the error of reading the
// values.
func write(folder string, data map[string]string, items []core.KeyToPath, readErr error) error {
	if readErr != nil {
		return readErr
	}
	if len(items) == 0 {
		for key := range data {
			items = append(items, core.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		value, known := data[item.Key]
		if !known {
			return fmt.Errorf("there is no key %s", item.Key)
		}
		file := filepath.Join(folder, item.Path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}
