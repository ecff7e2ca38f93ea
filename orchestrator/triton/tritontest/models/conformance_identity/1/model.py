"""Returns every input under its own name, so that a client sees what arrives and what comes back."""


class TritonPythonModel:
    def execute(self, requests):
        import triton_python_backend_utils as pb_utils

        return [pb_utils.InferenceResponse(request.inputs()) for request in requests]
