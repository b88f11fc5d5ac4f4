{{- /* The name of all objects: that of the chart, and the shard. */ -}}
{{- define "name" -}}
muster-controller{{ with .Values.shard }}-{{ . }}{{ end }}
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/name: {{ include "name" . }}
{{- end }}

{{- define "subjects" -}}
- kind: ServiceAccount
  name: {{ include "name" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* What the controller does itself in the namespaces of Sets. */ -}}
{{- define "rules" -}}
- apiGroups: [muster.dev]
  resources: [sets]
  verbs: [get, list, watch, patch]
- apiGroups: [muster.dev]
  resources: [sets/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [configmaps, secrets]
  verbs: [get, list, watch]
{{- if not .Values.namespaces }}
{{ include "cluster rules" . }}
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, impersonate]
  {{- with .Values.impersonate }}
  resourceNames: {{ toJson . }}
  {{- end }}
{{- end }}

{{- define "cluster rules" -}}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end }}
