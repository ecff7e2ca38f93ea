package command

// Commands are those for people who use a running service.
type Commands struct {
	Optimize  Optimize  `cmd:"" group:"Molecules" help:"Search for better molecules near given ones."`
	Sample    Sample    `cmd:"" group:"Molecules" help:"Draw molecules around given ones."`
	Embed     Embed     `cmd:"" group:"Molecules" help:"Vectors or hidden states of molecules."`
	Decode    Decode    `cmd:"" group:"Molecules" help:"Molecules of hidden states."`
	Fill      Fill      `cmd:"" group:"Molecules" help:"Fill templates with masks."`
	Describe  Describe  `cmd:"" group:"Molecules" help:"Properties of molecules; needs no service."`
	EmbedText EmbedText `cmd:"" group:"Texts and pictures" help:"Vectors of texts."`
	Rank      Rank      `cmd:"" group:"Texts and pictures" help:"Order passages for a query."`
	Chat      Chat      `cmd:"" group:"Texts and pictures" help:"Ask about pictures."`
}
