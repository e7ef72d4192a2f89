import { useSyncExternalStore } from "react"
import { Button } from "../ui/Button.tsx"
import { bytes, plural } from "../ui/format.ts"
import { type Upload, uploadStore } from "./uploads.ts"

/** Uploads that are shown at most: those that are not done come first. */
const most = 8

const State = ({ upload: { file, key, problem, sent, state } }: { upload: Upload }) =>
  state === "sending" ? (
    <>
      <progress max={Math.max(1, file.size)} value={sent} aria-label={`Progress of ${key}`} />
      <span>
        {bytes(sent)} of {bytes(file.size)}
      </span>
    </>
  ) : state === "failed" ? (
    <span className="field-problem" role="alert">
      {problem}
    </span>
  ) : (
    <span className={state === "done" ? "badge good" : "badge"}>
      {state === "done" ? "uploaded" : state === "waiting" ? "waiting" : "cancelled"}
    </span>
  )

export const UploadList = () => {
  const all = useSyncExternalStore(uploadStore.subscribe, uploadStore.all)
  if (all.length === 0) return null
  const order = ["failed", "sending", "waiting", "cancelled", "done"]
  const shown = all.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state)).slice(0, most)
  const open = all.filter(({ state }) => state === "waiting" || state === "sending").length
  return (
    <section className="card storage-uploads" aria-label="Uploads">
      <h3>
        Uploads{" "}
        <small>{open === 0 ? plural(all.length, "file") : `${open} of ${plural(all.length, "file")} to go`}</small>
        <span className="grow" />
        {open === all.length ? null : (
          <Button kind="quiet" onClick={uploadStore.clear}>
            Clear finished
          </Button>
        )}
      </h3>
      <ul>
        {shown.map((upload) => (
          <li key={upload.id}>
            <span className="storage-key">{upload.key}</span>
            <State upload={upload} />
            {upload.state === "waiting" || upload.state === "sending" ? (
              <Button
                kind="quiet"
                icon="x"
                label={`Cancel ${upload.key}`}
                onClick={() => uploadStore.cancel(upload.id)}
              />
            ) : upload.state === "failed" || upload.state === "cancelled" ? (
              <Button kind="quiet" icon="refresh" onClick={() => uploadStore.retry(upload.id)}>
                {upload.kept === undefined ? "Try again" : "Resume"}
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
      {all.length > most ? <p className="hint">and {all.length - most} more</p> : null}
    </section>
  )
}
