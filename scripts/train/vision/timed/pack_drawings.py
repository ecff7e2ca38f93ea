"""Packs DATA/drawings/*.jsonl: pictures as lossless WebP of 16 grey levels, at most AREA pixels. Continues."""
import base64,io,json,pathlib,pickle,sys
from PIL import Image
src,dst=pathlib.Path(sys.argv[1]),pathlib.Path(sys.argv[2])
dst.mkdir(parents=True,exist_ok=True)
cache=dst/"cache.pickle"; done=pickle.loads(cache.read_bytes()) if cache.exists() else {}
AREA=150_000
for f in sorted(src.glob("*.jsonl")):
    rows=done.setdefault(f.stem,[])
    for number,line in enumerate(f.open()):
        if number<len(rows): continue
        try: r=json.loads(line)
        except ValueError: break   # the last line may be half written
        im=Image.open(io.BytesIO(base64.b64decode(r["png"]))).convert("RGB")
        pts=r["points"]
        k=(AREA/(im.width*im.height))**0.5
        if k<1:
            new=(round(im.width*k),round(im.height*k))
            pts=[[round(x*new[0]/im.width,1),round(y*new[1]/im.height,1)] for x,y in pts]
            im=im.resize(new,Image.Resampling.LANCZOS)
        im=im.quantize(16,dither=Image.Dither.NONE).convert("RGB")
        b=io.BytesIO(); im.save(b,"WEBP",lossless=True,quality=40,method=3)
        rows.append((json.dumps([f.stem,len(b.getvalue()),pts,r["atoms"],r["bonds"]],separators=(",",":")),b.getvalue()))
    cache.write_bytes(pickle.dumps(done))
heads=[h for rows in done.values() for h,_ in rows]; blobs=[b for rows in done.values() for _,b in rows]
(dst/"heads.jsonl").write_text("\n".join(heads)+"\n"); (dst/"pictures.bin").write_bytes(b"".join(blobs))
print(len(heads),sum(map(len,blobs)))
