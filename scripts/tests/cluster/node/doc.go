// Package node is a small kubelet and scheduler for tests. It runs pods as processes of this machine (see package
// sandbox); each pod has a network namespace and an address on a bridge.
//
// Like a kubelet it does: init containers, the environment of containers (fieldRef, secretKeyRef, configMapKeyRef,
// envFrom), volumes (emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistent claims on hostPath),
// startup, liveness and readiness probes, preStop, SIGTERM with the pod's grace period, restarts with back-off, the
// pod's conditions. Unlike a kubelet it starts programs of this machine instead of images and does not enforce resource
// limits or network policies.
package node
