"""The chart: linted, rendered with each example of values, checked against the schemas of three Kubernetes versions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from servers import APIS, ROOT
from waiting import PATIENCE

CHART = ROOT / "scripts/deploy/chart"
HELM = ROOT / ".cache/cluster/helm"
KUBE_SCORE = ROOT / ".cache/deploy/kube-score"
PYTHON_TOOLS = ROOT / ".venv-deploy/bin"
VERSIONS = ("1.29", "1.33", "1.37")
EXAMPLES = {"defaults": None, **{path.stem.removesuffix("-values"): path for path in sorted(CHART.glob("ci/*.yaml"))}}
ELSEWHERE = ("monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1")
"""Kinds of operators, whose schemas are not Kubernetes'."""

# Checks of kube-score that do not apply: CPU limits, which only throttle; pulling images that are present; a user id
# above 10,000, since the vendor's image has 1000; a limit on temporary files, which are few.
IGNORED = ",".join(
    (
        "container-resources",
        "container-image-pull-policy",
        "container-security-context-user-group-id",
        "container-ephemeral-storage-request-and-limit",
    )
)


def run(*command: object, stdin: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in command], input=stdin, capture_output=True, text=True, timeout=PATIENCE
    )


def helm(verb: str, *words: object, version: str = "1.33") -> subprocess.CompletedProcess:
    name = ["retort"] if verb == "template" else []
    return run(HELM, verb, *name, CHART, "--kube-version", version, *words)


def values(example: str) -> list[object]:
    return ["--values", EXAMPLES[example]] if EXAMPLES[example] else []


def rendered(example: str, *words: object) -> list[dict]:
    done = helm("template", *values(example), *words)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def one(documents: list[dict], kind: str, name: str) -> dict:
    found = [d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name]
    assert len(found) == 1, f"{kind} {name}: {len(found)}"
    return found[0]


def pods(documents: list[dict]) -> list[dict]:
    """The specifications of all pods."""
    return [
        d["spec"] if d["kind"] == "Pod" else d["spec"]["template"]["spec"]
        for d in documents
        if d["kind"] in ("Pod", "Deployment")
    ]


@pytest.mark.parametrize("example", EXAMPLES)
def test_helm_lint_finds_nothing(example: str) -> None:
    done = helm("lint", "--strict", *values(example))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_manifests_conform_to_kubernetes(example: str, version: str, tmp_path: Path) -> None:
    if example == "gpu" and version == "1.29":
        version = "1.31"  # the first with image volumes
    known = [d for d in rendered(example) if d["apiVersion"] not in ELSEWHERE]
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all(known))
    done = run(PYTHON_TOOLS / "kubernetes-validate", "--strict", "-k", version, path)
    assert done.returncode == 0 and "WARN" not in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES)
def test_score(example: str) -> None:
    known = [d for d in rendered(example, "--no-hooks") if d["apiVersion"] not in ELSEWHERE]
    done = run(
        KUBE_SCORE, "score", "--ignore-test", IGNORED, "--output-format", "ci", "-", stdin=yaml.safe_dump_all(known)
    )
    assert "[CRITICAL]" not in done.stdout and done.stdout, done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_containers_have_no_more_rights_than_they_need(example: str) -> None:
    for spec in pods(rendered(example)):
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"] == {
            "type": "RuntimeDefault"
        }
        for container in spec["containers"] + spec.get("initContainers", []):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, container["name"]


@pytest.mark.parametrize(
    "words",
    [[], ["--set", "gateway.drain.delaySeconds=20,gateway.drain.timeoutSeconds=120,triton.drain.preStopSeconds=30"]],
)
def test_drains_fit_each_other(words: list[str]) -> None:
    documents = rendered("defaults", *words)
    gateway = one(documents, "Deployment", "retort")["spec"]["template"]["spec"]
    env = {v["name"]: v.get("value") for v in gateway["containers"][0]["env"]}
    delay = int(env["RETORT_DRAIN_DELAY"].removesuffix("s"))
    assert gateway["terminationGracePeriodSeconds"] > delay + int(env["RETORT_DRAIN_TIMEOUT"].removesuffix("s"))
    probe = gateway["containers"][0]["readinessProbe"]
    assert delay > probe["periodSeconds"] * probe["failureThreshold"]
    triton = one(documents, "Deployment", "retort-triton")["spec"]["template"]["spec"]
    container = triton["containers"][0]
    exits = next(int(word.partition("=")[2]) for word in container["args"] if word.startswith("--exit-timeout-secs="))
    sleeps = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert sleeps > 10  # gateways resolve names every 5 s
    assert triton["terminationGracePeriodSeconds"] > sleeps + exits


def test_triton_is_reached_by_the_gateway_alone() -> None:
    documents = rendered("defaults")
    policy = one(documents, "NetworkPolicy", "retort-triton")["spec"]
    gateway = one(documents, "Deployment", "retort")["spec"]["template"]["metadata"]["labels"]
    triton = one(documents, "Deployment", "retort-triton")["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= triton.items()
    first, metrics = policy["ingress"]
    assert [port["port"] for port in first["ports"]] == ["grpc"] and len(first["from"]) == 1
    assert first["from"][0]["podSelector"]["matchLabels"].items() <= gateway.items()
    assert [port["port"] for port in metrics["ports"]] == ["metrics"]
    assert policy["egress"] == []


def test_triton_sends_no_telemetry() -> None:
    """ONNX Runtime and vLLM send telemetry by default."""
    container = one(rendered("defaults"), "Deployment", "retort-triton")["spec"]["template"]["spec"]["containers"][0]
    for name in ("ORT_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        assert {"name": name, "value": "1"} in container["env"]
    assert "\nENV ORT_DISABLE_TELEMETRY=1\n" in (ROOT / "scripts/deploy/Dockerfile").read_text()


def test_the_gateway_listens_to_the_network_of_its_pod() -> None:
    """Probes and the Service reach the gateway from outside its pod."""
    spec = one(rendered("defaults"), "Deployment", "retort")["spec"]["template"]["spec"]
    assert {"name": "RETORT_HOST", "value": "0.0.0.0"} in spec["containers"][0]["env"]
    assert "RETORT_HOST=0.0.0.0" in (ROOT / "scripts/deploy/Dockerfile").read_text()


def test_secrets_are_mounted_and_named_to_the_program() -> None:
    spec = one(rendered("gpu"), "Deployment", "retort")["spec"]["template"]["spec"]
    container = spec["containers"][0]
    env = {v["name"]: v.get("value") for v in container["env"]}
    folders = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
    secrets = {v["name"]: v["secret"]["secretName"] for v in spec["volumes"] if "secret" in v}
    assert secrets == {"keys": "retort-keys", "tls": "retort-tls", "nats": "nats"}
    for variable in ("RETORT_KEYS_FILE", "RETORT_TLS_CERT", "RETORT_TLS_KEY", "RETORT_NATS_CREDS"):
        assert folders[env[variable].rpartition("/")[0]] in secrets
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"


def test_gpu_and_autoscalers() -> None:
    documents = rendered("gpu")
    triton = one(documents, "Deployment", "retort-triton")["spec"]
    assert triton["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1
    for name, metrics in {
        "retort": ["retort_http_waiting", "retort_http_in_flight"],
        "retort-triton": ["nv_inference_queue_seconds"],
    }.items():
        scaler = one(documents, "HorizontalPodAutoscaler", name)["spec"]
        assert [m["pods"]["metric"]["name"] for m in scaler["metrics"] if m["type"] == "Pods"] == metrics
        assert "replicas" not in one(documents, "Deployment", name)["spec"]


def test_chart_alerts_equal_the_rules_file() -> None:
    rule = one(rendered("gpu"), "PrometheusRule", "retort")
    assert rule["spec"] == yaml.safe_load((CHART / "files/rules.yaml").read_text())


def test_dashboard_and_alerts_are_up_to_date() -> None:
    done = run(PYTHON_TOOLS / "python", ROOT / "scripts/deploy/boards/make.py", "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "setting, message",
    {
        "triton.acelerator=gpu": "additional properties 'acelerator' not allowed",
        "triton.accelerator=tpu": "one of 'cpu', 'gpu'",
        "gateway.jobs.mode=volume": "for one pod",
        "gateway.jobs.mode=nats": "needs gateway.jobs.nats.url",
        "triton.enabled=false": "triton.url is required",
        "models.source=image": "models.image.reference is needed",
        "gateway.service.ports.http=0": "minimum: got 0, want 1",
    }.items(),
)
def test_wrong_values_are_refused(setting: str, message: str) -> None:
    done = helm("template", "--set", setting)
    assert done.returncode != 0 and message in done.stderr, done.stderr


def test_grpc_ports_are_served_if_they_are_set() -> None:
    documents = rendered("defaults", "--set", "gateway.service.ports.embedding-grpc=9003")
    container = one(documents, "Deployment", "retort")["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "RETORT_EMBEDDING_GRPC_PORT", "value": "9003"} in container["env"]
    ports = one(documents, "Service", "retort")["spec"]["ports"]
    assert {"name": "embedding-grpc", "port": 9003, "targetPort": "embedding-grpc"} in ports


def test_commands_can_be_replaced() -> None:
    documents = rendered(
        "defaults",
        "--set",
        "gateway.command={/bin/gateway},gateway.args={serve},triton.command={/bin/triton},triton.args={a,b}",
    )
    for name, command, args in (("retort", "/bin/gateway", ["serve"]), ("retort-triton", "/bin/triton", ["a", "b"])):
        container = one(documents, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]
        assert (container["command"], container["args"]) == ([command], args)


def test_the_default_images_are_those_of_the_dockerfile() -> None:
    """Each image is a target of the Dockerfile with the chart's version; Triton's has the chat API's packages."""
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    documents = rendered("defaults")
    images = {
        name: one(documents, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]["image"]
        for name in ("retort", "retort-triton")
    }
    assert images == {"retort": f"retort:{version}", "retort-triton": f"retort-triton:{version}"}
    builds = (ROOT / "scripts/deploy/Dockerfile").read_text()
    for name in images:
        assert f"-t {name} " in builds and f"-t $REGISTRY/{name}:{version} " in (CHART / "README.md").read_text(), name


@pytest.fixture
def notes(tmp_path: Path):
    """Renders NOTES.txt with values, in a copy of the chart, since `helm template` does not render notes."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    (chart / "templates/NOTES.txt").rename(chart / "NOTES.txt")
    (chart / "templates/notes.yaml").write_text('notes: {{ tpl (.Files.Get "NOTES.txt") . | quote }}\n')

    def render(*words: object) -> str:
        done = run(
            HELM, "template", "retort", chart, "--kube-version", "1.33", "--show-only", "templates/notes.yaml", *words
        )
        assert done.returncode == 0, done.stderr
        return yaml.safe_load(done.stdout)["notes"]

    return render


def test_the_notes_say_which_images_have_to_be_built(notes) -> None:
    text = notes()
    for target, image in (("gateway", "retort"), ("triton", "retort-triton")):
        assert f"docker build -f scripts/deploy/Dockerfile --target {target} -t {image}:" in text, text
    assert "chat API" not in text
    assert "--target triton" not in notes("--set", "triton.enabled=false,triton.url=gpu:8001")
    text = notes(
        "--set",
        "gateway.image.repository=registry.example.com/retort,"
        "triton.image.repository=registry.example.com/retort-triton",
    )
    assert "docker build" not in text, text


@pytest.mark.parametrize("repository", ["nvcr.io/nvidia/tritonserver", "registry.example.com/mirror/tritonserver"])
def test_the_notes_warn_of_the_vendors_own_image(notes, repository: str) -> None:
    text = notes("--set", f"triton.image.repository={repository},triton.image.tag=26.11-py3")
    assert "WARNING" in text and "the chat API has no model" in text, text


def test_helm_test_covers_every_api() -> None:
    (pod,) = [d for d in rendered("defaults") if d["kind"] == "Pod"]
    assert {container["name"] for container in pod["spec"]["containers"]} == set(APIS)
