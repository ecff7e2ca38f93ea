{{/* The container that copies the repository from an object store, without its arguments. */}}
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

{{/* rclone's arguments, which exclude the version folders with the weights. Argument: list of root and command. */}}
{{- define "retort.rcloneArgs" -}}
- {{ index . 1 }}
- {{ required "models.objectStore.rclone is needed" (index . 0).Values.models.objectStore.rclone | quote }}
- /models
- --exclude=*/[0-9]*/**
{{- end -}}
