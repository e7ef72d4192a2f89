import { useEffect, useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { bytes, moment } from "../../ui/format.ts"
import { Problem } from "../../ui/Problem.tsx"
import { copy } from "../../ui/toast.ts"
import { Content } from "./Content.tsx"
import { FileForm } from "./FileForm.tsx"
import { LinkForm } from "./LinkForm.tsx"
import { useFile, useTags } from "./queries.ts"

interface FilePanelProps {
  readonly bucket: string
  readonly objectKey: string
  /** Whether the store lets this page read. */
  readonly allowed: boolean
  readonly onClose: () => void
}

export const FilePanel = ({ allowed, bucket, objectKey, onClose }: FilePanelProps) => {
  const file = useFile(bucket, objectKey)
  const tags = useTags(bucket, objectKey)
  const [open, setOpen] = useState<"link" | "edit">()
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null) onClose()
    }
    addEventListener("keydown", keys)
    return () => removeEventListener("keydown", keys)
  }, [onClose])
  const name = objectKey.split("/").findLast((part) => part !== "") ?? objectKey
  const close = () => setOpen(undefined)
  return (
    <>
      <aside className="panel storage-preview" aria-label={`File ${objectKey}`}>
        <header>
          <h2>{name}</h2>
          <Button kind="quiet" icon="x" label="Close" onClick={onClose} />
        </header>
        <div className="panel-body">
          {file.isPending ? (
            <Skeleton lines={[100, 60, 80]} />
          ) : file.isLoadingError ? (
            <Problem error={file.error} title="The file could not be read" onRetry={() => void file.refetch()} />
          ) : (
            <>
              <Content file={file.data} name={name} allowed={allowed} />
              <div className="storage-actions">
                <a className="button" href={file.data.url} target="_blank" rel="noreferrer">
                  Open
                </a>
                <Button icon="link" onClick={() => setOpen("link")}>
                  Link…
                </Button>
                <Button disabled={tags.isPending} onClick={() => setOpen("edit")}>
                  Metadata and tags…
                </Button>
                <Button icon="copy" kind="quiet" onClick={() => void copy(objectKey, "Key")}>
                  Copy key
                </Button>
              </div>
              <dl>
                {[
                  ["Key", objectKey],
                  ["Type", file.data.type],
                  ["Size", bytes(file.data.size)],
                  ["Changed", moment(file.data.changed)],
                  ["ETag", file.data.etag],
                  ...(file.data.disposition === "" ? [] : [["Disposition", file.data.disposition] as const])
                ].map(([term, value]) => (
                  <div key={term}>
                    <dt>{term}</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
                {Object.entries(file.data.metadata).map(([term, value]) => (
                  <div key={`metadata ${term}`}>
                    <dt>
                      {term} <small>metadata</small>
                    </dt>
                    <dd>{value}</dd>
                  </div>
                ))}
                {Object.entries(tags.data ?? {}).map(([term, value]) => (
                  <div key={`tag ${term}`}>
                    <dt>
                      {term} <small>tag</small>
                    </dt>
                    <dd>{value}</dd>
                  </div>
                ))}
              </dl>
            </>
          )}
        </div>
      </aside>
      {open === "link" ? <LinkForm bucket={bucket} objectKey={objectKey} onClose={close} /> : null}
      {open === "edit" && file.data !== undefined ? (
        <FileForm bucket={bucket} objectKey={objectKey} file={file.data} tags={tags.data} onClose={close} />
      ) : null}
    </>
  )
}
