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

	folder  string // of this run
	models  string // the shared repository
	cluster *cluster
	loads   []*load.Load
	failed  []string
}

// outside is where the clients find the service.
const outside = "127.0.0.1:8000"

// served are the models of the small repository: those that the load needs.
var served = []string{"latent_decoder", "latent_encoder", "minilm_embed_qa", "minilm_rank_qa"}

// part is one thing that is shown.
type part struct {
	name string
	show func(*suite, context.Context) error
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

// run prepares everything, shows all parts, and fails when any of them did.
func (s *suite) run(ctx context.Context) (err error) {
	if err := mountProcesses(); err != nil {
		return err
	}
	if s.checkout, err = filepath.Abs(s.checkout); err != nil {
		return err
	}
	if s.binaries, err = filepath.Abs(s.binaries); err != nil {
		return err
	}
	if s.chart, err = filepath.Abs(s.chart); err != nil {
		return err
	}
	if s.folder, err = os.MkdirTemp("", "retort-cluster-"); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	began := time.Now()
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("%w\n(what ran is in %s)", err, s.folder)
	}
	s.say("installed", "the chart's pods are ready %.0f s after the start", time.Since(began).Seconds())
	if err := s.show(ctx, parts[:1]); err != nil { // alone
		return err
	}
	s.loads = []*load.Load{
		load.Start(ctx, load.Options{Address: outside, Clients: 6, Pause: 150 * time.Millisecond, Kinds: load.Kinds}),
		load.Start(ctx,
			load.Options{Address: outside, Clients: 3, Pause: 200 * time.Millisecond, Reuse: 1, Kinds: load.Kinds}),
	}
	if err := s.show(ctx, parts[1:]); err != nil {
		return err
	}
	for _, l := range s.loads {
		l.Stop()
	}
	if len(s.failed) > 0 {
		return fmt.Errorf("%s (what ran is in %s)", strings.Join(s.failed, ", "), s.folder)
	}
	return os.RemoveAll(s.folder)
}

// show runs those of the parts that were asked for.
func (s *suite) show(ctx context.Context, parts []part) error {
	for _, p := range parts {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), p.name) {
			continue
		}
		if err := p.show(s, ctx); err != nil {
			s.failed = append(s.failed, p.name)
			fmt.Printf("%-18s FAIL: %v\n", p.name, err)
		}
	}
	return ctx.Err()
}

// say prints one line of figures.
func (s *suite) say(name, format string, arguments ...any) {
	fmt.Printf("%-18s %s\n", name, fmt.Sprintf(format, arguments...))
}

// begin starts the cluster and installs the chart.
func (s *suite) begin(ctx context.Context) error {
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
	return s.cluster.edge.Expose(outside, service, "http")
}

// copyModels makes the repository that gateways and Tritons share.
func (s *suite) copyModels() error {
	s.models = filepath.Join(s.folder, "models")
	for _, name := range served {
		if err := os.CopyFS(filepath.Join(s.models, name), os.DirFS(s.at("model_repository/"+name))); err != nil {
			return err
		}
	}
	return nil
}

// claim makes the volume of the repository, as an operator with a shared file system does.
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
			AccessModes: modes, StorageClassName: &class, VolumeName: "models", Resources: core.VolumeResourceRequirements{Requests: size},
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
