{{/* The settings of the gateway that other values determine, by environment variable. */}}
{{- define "retort.gatewayEnv" -}}
{{- $g := .Values.gateway -}}
RETORT_TRITON_URL: {{ include "retort.tritonURL" . | quote }}
RETORT_MODEL_REPOSITORY: /models
RETORT_HOST: 0.0.0.0
RETORT_DRAIN_DELAY: {{ printf "%vs" $g.drain.delaySeconds | quote }}
RETORT_DRAIN_TIMEOUT: {{ printf "%vs" $g.drain.timeoutSeconds | quote }}
RETORT_LOG_FORMAT: json
{{- range $port, $number := $g.service.ports }}
{{ ternary "RETORT_PORT" (printf "RETORT_%s_PORT" (upper $port | replace "-" "_")) (eq $port "http") }}: {{ $number | quote }}
{{- end }}
{{- if eq $g.jobs.mode "none" }}
RETORT_JOBS: "false"
{{- else if eq $g.jobs.mode "nats" }}
RETORT_NATS_URL: {{ required "gateway.jobs.mode nats needs gateway.jobs.nats.url" $g.jobs.nats.url | quote }}
{{- if $g.jobs.nats.existingSecret }}
RETORT_NATS_CREDS: /etc/retort/nats/nats.creds
{{- end }}
{{- else }}
RETORT_JOBS_DATA: /var/lib/retort
{{- end }}
{{- if $g.keys.existingSecret }}
RETORT_KEYS_FILE: /etc/retort/keys/{{ $g.keys.key }}
{{- end }}
{{- if $g.tls.existingSecret }}
RETORT_TLS_CERT: /etc/retort/tls/tls.crt
RETORT_TLS_KEY: /etc/retort/tls/tls.key
{{- end }}
{{- end -}}
