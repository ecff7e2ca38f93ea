"""Fails with an error of the requested code (INVALID_ARG, UNAVAILABLE, …), or for RAISE with an exception."""


class TritonPythonModel:
    def execute(self, requests):
        import triton_python_backend_utils as pb_utils

        responses = []
        for request in requests:
            code = request.inputs()[0].as_numpy()[0].decode()
            if code == "RAISE":
                raise ValueError("the model broke")
            error = pb_utils.TritonError("told to fail with " + code, getattr(pb_utils.TritonError, code))
            responses.append(pb_utils.InferenceResponse([], error))
        return responses
