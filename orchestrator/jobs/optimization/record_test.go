package optimization

import (
	"encoding/json"
	"testing"
)

// Later releases must read the records that older releases wrote.
func TestNamesOfStoredRecord(t *testing.T) {
	r := record{Owner: "o", BodySize: 1, ResultSize: 2, Failures: 3, Searches: []search{{
		Iterations: 4, Before: 5, Done: 6, Evaluations: 7, WarmStarts: []string{"C"}, Best: json.RawMessage("8"),
	}}}
	r.ID = "job_1"
	text, err := json.Marshal(r)
	const want = `{"id":"job_1","object":"","api":"","status":"","created_at":0,"started_at":null,"ended_at":null,` +
		`"expires_at":null,"attempts":0,"progress":{"iteration":0,"iterations":0,"evaluations":0,"best":null},` +
		`"has_result":false,"unfinished":null,"error":null,"Owner":"o","BodySize":1,"ResultSize":2,"Failures":3,` +
		`"Searches":[{"Iterations":4,"Before":5,"Done":6,"Evaluations":7,"Found":["C"],"Best":8}]}`
	if err != nil || string(text) != want {
		t.Errorf("error %v,\ngot  %s\nwant %s", err, text, want)
	}
}
