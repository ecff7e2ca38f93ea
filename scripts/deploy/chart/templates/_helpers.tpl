{{- define "retort.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "retort.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "retort.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "retort.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the pods of a component. Argument: dict with root and component. */}}
{{- define "retort.selector" -}}
app.kubernetes.io/name: {{ include "retort.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "retort.labels" -}}
{{ include "retort.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The reference of an image. Argument: dict with image (its values) and tag (the default). */}}
{{- define "retort.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .tag) -}}
{{- end -}}
{{- end -}}

{{- define "retort.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "retort.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "retort.tritonURL" -}}
{{- if .Values.triton.enabled -}}
{{- printf "dns:///%s-triton:%v" (include "retort.fullname" .) .Values.triton.ports.grpc -}}
{{- else -}}
{{- required "triton.url is required if triton.enabled is false" .Values.triton.url -}}
{{- end -}}
{{- end -}}

{{- define "retort.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* A map as entries of env, sorted by name. */}}
{{- define "retort.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{/* The volume `models`, if the repository is mounted. */}}
{{- define "retort.modelsVolume" -}}
{{- if eq .Values.models.source "persistentVolumeClaim" }}
- name: models
  persistentVolumeClaim:
    claimName: {{ required "models.persistentVolumeClaim.claimName is needed" .Values.models.persistentVolumeClaim.claimName }}
    readOnly: true
{{- else if eq .Values.models.source "image" }}
- name: models
  image:
    reference: {{ required "models.image.reference is needed" .Values.models.image.reference }}
    pullPolicy: {{ .Values.models.image.pullPolicy }}
{{- end }}
{{- end -}}

{{/* topologySpreadConstraints: the pods of a component on different nodes and zones if possible. */}}
{{- define "retort.spread" -}}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "retort.selector" $ | nindent 6 }}
{{- end }}
{{- end -}}

{{/* The placement of a component's pods, from its values. */}}
{{- define "retort.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}
