import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { bytes, moment } from "../ui/format.ts"
import { Problem } from "../ui/Problem.tsx"
import { copy } from "../ui/toast.ts"
import { answerOf, call } from "../wire/call.ts"
import { LinkForm } from "./LinkForm.tsx"

/** Texts up to this size are shown. */
const mostText = 256 * 1024
const isText = /^(?:text\/|application\/(?:json|xml|javascript|x-ndjson|yaml|sql)|image\/svg)/
const isImage = /^image\//

interface PreviewProps {
  readonly bucket: string
  readonly objectKey: string
  /** Whether the store lets this page read. Images need no permission. */
  readonly allowed: boolean
  readonly onClose: () => void
}

const useObject = (bucket: string, key: string) =>
  useQuery({
    queryKey: ["object", bucket, key],
    queryFn: async ({ signal }) => {
      const { headers } = await answerOf("HEAD /api/storage/buckets/:bucket/objects/metadata", {
        params: { bucket },
        query: { key },
        signal
      })
      const { url } = await call("POST /api/storage/buckets/:bucket/objects/presign-download", {
        params: { bucket },
        payload: { key, expiresIn: 900 },
        signal
      })
      return {
        url,
        type: headers.get("content-type") ?? "",
        size: Number(headers.get("content-length")),
        etag: headers.get("etag") ?? "",
        changed: headers.get("last-modified") ?? "",
        metadata: Array.from(headers).filter(([name]) => name.startsWith("x-amz-meta-"))
      }
    },
    // The link expires.
    staleTime: 600_000,
    gcTime: 0
  })

const TextPreview = ({ url }: { url: string }) => {
  const text = useQuery({
    queryKey: ["object-text", url],
    queryFn: async ({ signal }) => {
      const response = await fetch(url, { signal })
      if (!response.ok) throw new Error(`The object store answered with HTTP ${response.status}`)
      return response.text()
    },
    gcTime: 0
  })
  if (text.isPending) return <Skeleton lines={[80, 60, 70]} />
  if (text.isError) return <Problem error={text.error} title="The text could not be read" />
  return (
    // It scrolls by itself, so it must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="storage-text" tabIndex={0} role="region" aria-label="Content">
      {text.data}
    </pre>
  )
}

export const Preview = ({ allowed, bucket, objectKey, onClose }: PreviewProps) => {
  const object = useObject(bucket, objectKey)
  const [linking, setLinking] = useState(false)
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null) onClose()
    }
    addEventListener("keydown", keys)
    return () => removeEventListener("keydown", keys)
  }, [onClose])
  const name = objectKey.split("/").findLast((part) => part !== "") ?? objectKey
  return (
    <aside className="panel storage-preview" aria-label={`File ${objectKey}`}>
      <header>
        <h2>{name}</h2>
        <Button kind="quiet" icon="x" label="Close" onClick={onClose} />
      </header>
      <div className="panel-body">
        {object.isPending ? (
          <Skeleton lines={[100, 60, 80]} />
        ) : object.isError ? (
          <Problem error={object.error} title="The file could not be read" onRetry={() => void object.refetch()} />
        ) : (
          <>
            {isImage.test(object.data.type) ? (
              <img className="storage-image" src={object.data.url} alt={`Content of ${name}`} />
            ) : isText.test(object.data.type) && object.data.size <= mostText ? (
              allowed ? (
                <TextPreview url={object.data.url} />
              ) : (
                <p className="hint">Its text is shown once this page is allowed to use the bucket.</p>
              )
            ) : (
              <p className="hint">Files of this type are not shown here: download it.</p>
            )}
            <div className="storage-actions">
              <a className="button" href={object.data.url} target="_blank" rel="noreferrer">
                Open
              </a>
              <Button icon="link" onClick={() => setLinking(true)}>
                Link…
              </Button>
              <Button icon="copy" kind="quiet" onClick={() => void copy(objectKey, "Key")}>
                Copy key
              </Button>
            </div>
            <dl>
              {[
                ["Key", objectKey],
                ["Type", object.data.type],
                ["Size", bytes(object.data.size)],
                ["Changed", moment(object.data.changed)],
                ["ETag", object.data.etag],
                ...object.data.metadata
              ].map(([term, value]) => (
                <div key={term}>
                  <dt>{term}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </>
        )}
      </div>
      {linking ? <LinkForm bucket={bucket} objectKey={objectKey} onClose={() => setLinking(false)} /> : null}
    </aside>
  )
}
