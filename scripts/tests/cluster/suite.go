package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"retort-cluster-test/load"
)

// suite is one run of the test.
type suite struct {
	binaries, checkout, triton, chart, only string

	folder  string // of all files of this run
	models  string // the shared model repository
	cluster *cluster
	loads   []*load.Load
	failed  []string
}

// outside is the address of the service for outside clients.
const outside = "127.0.0.1:8000"

// modelNames are the models that the load needs.
var modelNames = []string{"latent_decoder", "latent_encoder", "minilm_embed_qa", "minilm_rank_qa"}

// part is a part of the test.
type part struct {
	name string
	run  func(*suite, context.Context) error
}

var parts = []part{
	{"cost", (*suite).cost},
	{"gateway-update", (*suite).updateGateway},
	{"triton-update", (*suite).updateTriton},
	{"triton-kill", (*suite).killTriton},
	{"gateway-kill", (*suite).killGateway},
	{"model-update", (*suite).updateModel},
	{"scale-out-and-in", (*suite).scale},
}

func (s *suite) at(path string) string { return filepath.Join(s.checkout, path) }

// run prepares everything and runs all parts. It fails if any part fails.
func (s *suite) run(ctx context.Context) (err error) {
	if err := mountProc(); err != nil {
		return err
	}
	for _, folder := range []*string{&s.checkout, &s.binaries, &s.chart} {
		if *folder, err = filepath.Abs(*folder); err != nil {
			return err
		}
	}
	if s.folder, err = os.MkdirTemp("", "retort-cluster-"); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	started := time.Now()
	if err := s.install(ctx); err != nil {
		return fmt.Errorf("%w\n(files of the run: %s)", err, s.folder)
	}
	s.print("installed", "the chart's pods are ready %.0f s after the start", time.Since(started).Seconds())
	if err := s.runParts(ctx, parts[:1]); err != nil { // cost, without other load
		return err
	}
	s.loads = []*load.Load{
		load.Start(ctx, load.Options{Address: outside, Clients: 6, Pause: 150 * time.Millisecond, Kinds: load.Kinds}),
		load.Start(ctx, load.Options{
			Address: outside, Clients: 3, Pause: 200 * time.Millisecond, Reuse: 1, Kinds: load.Kinds,
		}),
	}
	if err := s.runParts(ctx, parts[1:]); err != nil {
		return err
	}
	for _, l := range s.loads {
		l.Stop()
	}
	if len(s.failed) > 0 {
		return fmt.Errorf("%s (files of the run: %s)", strings.Join(s.failed, ", "), s.folder)
	}
	return os.RemoveAll(s.folder)
}

// runParts runs the selected parts.
func (s *suite) runParts(ctx context.Context, parts []part) error {
	for _, p := range parts {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), p.name) {
			continue
		}
		if err := p.run(s, ctx); err != nil {
			s.failed = append(s.failed, p.name)
			fmt.Printf("%-18s FAIL: %v\n", p.name, err)
		}
	}
	return ctx.Err()
}

// print prints one line of figures.
func (s *suite) print(name, format string, arguments ...any) {
	fmt.Printf("%-18s %s\n", name, fmt.Sprintf(format, arguments...))
}

// install starts the cluster and installs the chart.
func (s *suite) install(ctx context.Context) error {
	images, err := s.images()
	if err != nil {
		return err
	}
	if err := s.copyModels(); err != nil {
		return err
	}
	if s.cluster, err = newCluster(ctx, s.folder, filepath.Join(s.binaries, "controlplane"), images); err != nil {
		return err
	}
	if err := s.cluster.registerAdapter(ctx); err != nil {
		return err
	}
	if err := s.claim(ctx); err != nil {
		return err
	}
	if err := s.helm(ctx, "install", s.values(false)); err != nil {
		return err
	}
	service, err := s.cluster.client.CoreV1().Services(namespace).Get(ctx, release, meta.GetOptions{})
	if err != nil {
		return err
	}
	return s.cluster.balancer.Expose(outside, service, "http")
}

// copyModels makes the model repository that gateways and Tritons share.
func (s *suite) copyModels() error {
	s.models = filepath.Join(s.folder, "models")
	for _, name := range modelNames {
		if err := os.CopyFS(filepath.Join(s.models, name), os.DirFS(s.at("model_repository/"+name))); err != nil {
			return err
		}
	}
	return nil
}

// claim creates the volume of the repository, as an operator with a shared file system does.
func (s *suite) claim(ctx context.Context) error {
	class := ""
	size := core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")}
	modes := []core.PersistentVolumeAccessMode{core.ReadWriteMany}
	client := s.cluster.client.CoreV1()
	if _, err := client.PersistentVolumes().Create(ctx, &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: "models"},
		Spec: core.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			PersistentVolumeSource: core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: s.models}},
		},
	}, meta.CreateOptions{}); err != nil {
		return err
	}
	if _, err := client.PersistentVolumeClaims(namespace).Create(ctx, &core.PersistentVolumeClaim{
		ObjectMeta: meta.ObjectMeta{Name: "models", Namespace: namespace},
		Spec: core.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &class, VolumeName: "models",
			Resources: core.VolumeResourceRequirements{Requests: size},
		},
	}, meta.CreateOptions{}); err != nil {
		return err
	}
	return eventually(ctx, time.Minute, "the claim of the repository is bound", func() error {
		claim, err := client.PersistentVolumeClaims(namespace).Get(ctx, "models", meta.GetOptions{})
		if err == nil && claim.Status.Phase != core.ClaimBound {
			err = fmt.Errorf("it is %s", claim.Status.Phase)
		}
		return err
	})
}
