package node

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"retort-cluster-test/sandbox"
)

// Image stands for a container image: files of this machine to mount, and the program to start.
type Image struct {
	Mounts      []sandbox.Mount
	Environment []string
	Entrypoint  []string
	User        int
}

// Config says where a node's pods live.
type Config struct {
	Name    string
	Folder  string           // of volumes, layers and the output of containers
	Images  map[string]Image // by repository, without registry and tag
	DNS     string           // address of the cluster's DNS
	Gateway string           // address of this machine on the bridge
	Bridge  string           // name of the bridge
}

// Node runs the pods that are bound to it.
type Node struct {
	config  Config
	client  kubernetes.Interface
	mu      sync.Mutex
	pods    map[types.UID]*pod
	address int // the number of the last pod address
}

// New registers the node and starts to run pods until ctx ends.
func New(ctx context.Context, client kubernetes.Interface, c Config) (*Node, error) {
	n := &Node{config: c, client: client, pods: map[types.UID]*pod{}, address: 10}
	if err := n.register(ctx); err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.sync(ctx, o.(*core.Pod)) },
		UpdateFunc: func(_, o any) { n.sync(ctx, o.(*core.Pod)) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	return n, nil
}

// register creates the node object, ready and with enough resources for everything.
func (n *Node) register(ctx context.Context) error {
	resources := core.ResourceList{
		core.ResourceCPU:    resource.MustParse("64"),
		core.ResourceMemory: resource.MustParse("256Gi"),
		core.ResourcePods:   resource.MustParse("110"),
	}
	now := meta.Now()
	object := &core.Node{ObjectMeta: meta.ObjectMeta{Name: n.config.Name, Labels: map[string]string{
		core.LabelHostname: n.config.Name, core.LabelArchStable: "amd64", core.LabelOSStable: "linux",
	}}}
	created, err := n.client.CoreV1().Nodes().Create(ctx, object, meta.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status.Capacity = resources
	created.Status.Allocatable = resources
	created.Status.Addresses = []core.NodeAddress{{Type: core.NodeInternalIP, Address: n.config.Gateway}}
	created.Status.Conditions = []core.NodeCondition{{
		Type: core.NodeReady, Status: core.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, created, meta.UpdateOptions{})
	return err
}

// sync binds a pod that has no node, and starts or ends a pod of this node.
func (n *Node) sync(ctx context.Context, object *core.Pod) {
	if object.Spec.NodeName == "" {
		go n.bind(ctx, object)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	p, known := n.pods[object.UID]
	if !known && object.DeletionTimestamp == nil {
		n.address++
		p = n.newPod(object, n.address)
		n.pods[object.UID] = p
		go func() {
			p.run(ctx)
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.pods, object.UID)
		}()
	}
	if object.DeletionTimestamp == nil {
		return
	}
	if p == nil {
		go n.remove(ctx, object)
		return
	}
	p.end(object)
}

// bind schedules a pod on this node, the only one.
func (n *Node) bind(ctx context.Context, object *core.Pod) {
	err := n.client.CoreV1().Pods(object.Namespace).Bind(ctx, &core.Binding{
		ObjectMeta: meta.ObjectMeta{Name: object.Name, Namespace: object.Namespace, UID: object.UID},
		Target:     core.ObjectReference{Kind: "Node", Name: n.config.Name},
	}, meta.CreateOptions{})
	if err != nil && !errors.IsConflict(err) && !errors.IsNotFound(err) && ctx.Err() == nil {
		log.Printf("pod %s is not bound: %v", object.Name, err)
	}
}

// remove deletes a pod from the API after its containers have ended.
func (n *Node) remove(ctx context.Context, object *core.Pod) {
	var now int64
	err := n.client.CoreV1().Pods(object.Namespace).Delete(ctx, object.Name, meta.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &meta.Preconditions{UID: &object.UID},
	})
	if err != nil && !errors.IsNotFound(err) && ctx.Err() == nil {
		log.Printf("pod %s is not removed: %v", object.Name, err)
	}
}

// Kill sends SIGKILL to the containers of a pod, as the kernel does when memory is short. It returns the time at which
// they had ended: until then a process accepts connections.
func (n *Node) Kill(name string) (time.Time, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.object.Name != name {
			continue
		}
		for _, c := range p.containers {
			exited := c.exited
			if err := c.kill(); err != nil {
				return time.Time{}, err
			}
			<-exited
		}
		return time.Now(), nil
	}
	return time.Time{}, fmt.Errorf("there is no pod %s", name)
}

// Output returns the file with the output of a container.
func (n *Node) Output(pod, container string) string {
	return filepath.Join(n.config.Folder, "logs", pod+"."+container+".log")
}
