{{/* The container that copies the repository from an object store, but for its arguments. */}}
{{- define "retort.rclone" -}}
image: {{ include "retort.image" (dict "image" .Values.models.objectStore.image "tag" "latest") }}
imagePullPolicy: {{ .Values.models.objectStore.image.pullPolicy }}
{{- with .Values.models.objectStore.existingSecret }}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
env:
  - {name: RCLONE_CONFIG, value: /tmp/rclone.conf}
resources:
  {{- toYaml .Values.models.objectStore.resources | nindent 2 }}
securityContext:
  {{- include "retort.containerSecurity" . | nindent 2 }}
volumeMounts:
  - {name: models, mountPath: /models}
  - {name: tmp, mountPath: /tmp}
{{- end -}}

{{/* Its arguments: versions' folders, which hold the weights, stay in the store. Called with the root and a verb. */}}
{{- define "retort.rcloneArgs" -}}
- {{ index . 1 }}
- {{ required "models.objectStore.rclone is needed" (index . 0).Values.models.objectStore.rclone | quote }}
- /models
- --exclude=*/[0-9]*/**
{{- end -}}
