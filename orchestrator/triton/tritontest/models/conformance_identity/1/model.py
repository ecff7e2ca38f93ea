"""Returns each input under its own name."""


class TritonPythonModel:
    def execute(self, requests):
        import triton_python_backend_utils as pb_utils

        return [pb_utils.InferenceResponse(request.inputs()) for request in requests]
