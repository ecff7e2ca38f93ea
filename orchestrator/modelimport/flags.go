package modelimport

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkFlags refuses a flag that the API does not have. --precision and --weights have fewer values for masked models,
// which checkMaskedFlags refuses.
func (o Options) checkFlags() error {
	all := []string{apiEmbedding, apiRanking, apiMasked, apiChat}
	if !slices.Contains(all, o.API) {
		return fmt.Errorf("api %q: only models of %s can be imported", o.API, strings.Join(all, ", "))
	}
	graph := []string{apiEmbedding, apiRanking, apiMasked}
	encoder := []string{apiEmbedding, apiRanking}
	embedding := []string{apiEmbedding}
	ranking := []string{apiRanking}
	chat := []string{apiChat}
	for _, flag := range []struct {
		name string
		set  bool
		apis []string
	}{
		{"--weights", o.Weights != "", graph},
		{"--precision", o.Precision != "", graph},
		{"--device", o.Device != "", encoder},
		{"--python", o.Python != "", encoder},
		{"--trust-remote-code", o.TrustRemoteCode, []string{apiEmbedding, apiRanking, apiChat}},
		{"--pooling", o.Pooling != "", embedding},
		{"--normalize", o.Normalize != nil, embedding},
		{"--query-prefix", o.QueryPrefix != nil, embedding},
		{"--passage-prefix", o.PassagePrefix != nil, embedding},
		{"--least-dimensions", o.LeastDimensions != 0, embedding},
		{"--pair-template", o.PairTemplate != nil, ranking},
		{"--engine-path", o.EnginePath != "", chat},
		{"--tensor-parallel", o.TensorParallel != 0, chat},
		{"--max-images", o.MaxImages != nil, chat},
		{"--chat-template", o.ChatTemplate != "", chat},
	} {
		if flag.set && !slices.Contains(flag.apis, o.API) {
			return fmt.Errorf("%s is not for models of %s, only of %s", flag.name, o.API, strings.Join(flag.apis, ", "))
		}
	}
	if o.TrustRemoteCode && o.Python == "" && o.API != apiChat {
		return errors.New("--trust-remote-code needs --python: without it no code of the folder runs")
	}
	return nil
}
