"""The arguments that operators and sensors share: the options of spark-submit, and what is ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator, literal

from .links import SparquetReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

#: Bytes of JSON that one XCom may have before parts are left out.
XCOM_LIMIT = 48 * 1024

#: Arguments that go to Airflow's ``SparkSubmitHook`` as they are.
SUBMIT_OPTIONS = (
    "files", "py_files", "archives", "driver_class_path", "jars", "exclude_packages", "repositories",
    "total_executor_cores", "executor_cores", "executor_memory", "driver_memory", "num_executors",
    "keytab", "principal", "proxy_user", "use_krb5ccache", "verbose", "spark_binary", "properties_file", "deploy_mode",
    "status_poll_interval", "post_submit_commands", "yarn_queue", "yarn_track_via_rm_api", "yarn_rm_auth", "track_driver_via_k8s_api",
)


class SubmitArguments(BaseOperator):
    """The arguments of whatever submits a document with spark-submit.

    The arguments up to ``yarn_rm_auth`` are those of Airflow's ``SparkSubmitOperator``. There is none called ``params``
    or ``doc``: those names are Airflow's.

    Args:
        pipeline_params: the values of the document's ``{name}`` placeholders (templated).
        extensions: modules, or ``.py`` files that are shipped, whose ``register(sparquet)`` adds custom types.
        strict: misspelt keys and placeholders without a value fail the task before anything runs; otherwise they warn.
        exchange_path: deploy mode cluster only: a folder that the worker and the cluster's drivers share. A path, or
            a URI that Airflow's ``ObjectStoragePath`` opens, such as ``s3://connection@bucket/exchange`` (templated).
        exchange_uri: the same folder as drivers see it, when it has another name there (``s3a://bucket/exchange``).
        result_dir: a folder (path or URI) in which the full result and a report page are kept; by default the
            configuration ``[sparquet] result_dir``; without one they are not kept (templated).
        xcom_limit: bytes of JSON that one XCom may have; larger results lose parts, with a warning.
        retry_on_quality_failure: let Airflow try again when rules failed; normally the task fails at once.
        auto_packages: on local masters, add the packages of the formats that the document uses (connectors, JDBC drivers).
        quick_start: start the JVM some seconds sooner and run it slower; for jobs of seconds.
        conf: Spark settings; they win over the document's ``spark.configs``. None removes a setting (templated).
        conn_id: the Spark connection; its master decides where the document runs.

    A run that an asset or the API started may have no logical date, and ``{{ ds }}`` fails there. Safe in every run:
    ``{{ (dag_run.logical_date or dag_run.run_after) | ds }}``, and ``{{ run_id }}``.

    Values under keys that look secret (password, token, access key …) are masked in logs, rendered fields, errors and
    results, and travel in files that only their owner can read. So do the connections that blocks of the document name
    (``"connection": "my_pg"``): they are looked up in Airflow before the submission.
    """

    template_fields: Sequence[str] = (
        "pipeline_params", "exchange_path", "exchange_uri", "result_dir", "conf", "files", "py_files", "jars", "driver_class_path", "packages",
        "exclude_packages", "keytab", "principal", "proxy_user", "name", "env_vars", "post_submit_commands", "properties_file",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"pipeline_params": "json", "conf": "json", "env_vars": "json"}
    operator_extra_links = (SparquetReportLink(),)
    ui_color = "#e8f1f2"

    def __init__(
        self,
        *,
        pipeline_params: Mapping[str, Any] | None = None,
        extensions: Sequence[str] = (),
        strict: bool = True,
        exchange_path: str | None = None,
        exchange_uri: str | None = None,
        result_dir: str | None = None,
        xcom_limit: int = XCOM_LIMIT,
        retry_on_quality_failure: bool = False,
        auto_packages: bool = True,
        quick_start: bool = False,
        conf: Mapping[str, Any] | None = None,
        conn_id: str = "spark_default",
        files: str | None = None,
        py_files: str | None = None,
        archives: str | None = None,
        driver_class_path: str | None = None,
        jars: str | None = None,
        packages: str | None = None,
        exclude_packages: str | None = None,
        repositories: str | None = None,
        total_executor_cores: int | None = None,
        executor_cores: int | None = None,
        executor_memory: str | None = None,
        driver_memory: str | None = None,
        keytab: str | None = None,
        principal: str | None = None,
        proxy_user: str | None = None,
        name: str | None = None,
        num_executors: int | None = None,
        status_poll_interval: int = 1,
        env_vars: Mapping[str, Any] | None = None,
        verbose: bool = False,
        spark_binary: str | None = None,
        properties_file: str | None = None,
        yarn_queue: str | None = None,
        deploy_mode: str | None = None,
        use_krb5ccache: bool = False,
        post_submit_commands: list[str] | None = None,
        track_driver_via_k8s_api: bool = False,
        yarn_track_via_rm_api: bool = False,
        yarn_rm_auth: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline_params = pipeline_params
        self.extensions = [extensions] if isinstance(extensions, str) else extensions
        self.strict = strict
        self.exchange_path = exchange_path
        self.exchange_uri = exchange_uri
        self.result_dir = result_dir
        self.xcom_limit = xcom_limit
        self.retry_on_quality_failure = retry_on_quality_failure
        self.auto_packages = auto_packages
        self.quick_start = quick_start
        self.conf = conf
        self.conn_id = conn_id
        self.files = files
        self.py_files = py_files
        self.archives = archives
        self.driver_class_path = driver_class_path
        self.jars = jars
        self.packages = packages
        self.exclude_packages = exclude_packages
        self.repositories = repositories
        self.total_executor_cores = total_executor_cores
        self.executor_cores = executor_cores
        self.executor_memory = executor_memory
        self.driver_memory = driver_memory
        self.keytab = keytab
        self.principal = principal
        self.proxy_user = proxy_user
        self.name = name
        self.num_executors = num_executors
        self.status_poll_interval = status_poll_interval
        self.env_vars = env_vars
        self.verbose = verbose
        self.spark_binary = spark_binary
        self.properties_file = properties_file
        self.yarn_queue = yarn_queue
        self.deploy_mode = deploy_mode
        self.use_krb5ccache = use_krb5ccache
        self.post_submit_commands = post_submit_commands
        self.track_driver_via_k8s_api = track_driver_via_k8s_api
        self.yarn_track_via_rm_api = yarn_track_via_rm_api
        self.yarn_rm_auth = yarn_rm_auth

    def render_template(self, content: Any, context: Context, *args: Any, **kwargs: Any) -> Any:
        """Render as every operator does; secrets in mappings are masked before Airflow stores the rendered fields."""
        from ..core.secrets import values
        from .masking import mask_in_airflow

        rendered = super().render_template(content, context, *args, **kwargs)
        if isinstance(rendered, Mapping):
            mask_in_airflow(values(rendered))
        return rendered


def as_is(document: Any) -> Any:
    """A mapping or list of rules that Jinja leaves alone: its ``{{…}}`` are Sparquet's own variables. A path becomes a text."""
    if isinstance(document, Path):
        return str(document)
    return literal(document) if isinstance(document, Mapping | list | tuple) else document


def given(document: Any, context: Context) -> Any:
    """The document of :func:`as_is`, also when nothing was rendered before."""
    resolve = getattr(document, "resolve", None)
    return resolve(context) if resolve else document
