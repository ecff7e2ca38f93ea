"""Unpacks the drawings of pack_drawings.py into DATA/drawings/*.jsonl. Arguments: folder of heads.jsonl, DATA."""
import base64,json,pathlib,sys
src,dst=pathlib.Path(sys.argv[1]),pathlib.Path(sys.argv[2])/"drawings"
dst.mkdir(parents=True,exist_ok=True)
data=(src/"pictures.bin").read_bytes(); at=0; out={}
for line in (src/"heads.jsonl").open():
    stem,size,points,atoms,bonds=json.loads(line)
    row={"png":base64.b64encode(data[at:at+size]).decode(),"points":points,"atoms":atoms,"bonds":bonds}
    at+=size
    out.setdefault(stem,[]).append(json.dumps(row,separators=(",",":")))
for stem,rows in out.items(): (dst/f"{stem}.jsonl").write_text("\n".join(rows)+"\n")
print({k:len(v) for k,v in out.items()})
