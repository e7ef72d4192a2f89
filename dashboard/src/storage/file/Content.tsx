import { useQuery } from "@tanstack/react-query"
import { Skeleton } from "../../ui/Empty.tsx"
import { Problem } from "../../ui/Problem.tsx"
import type { StoredFile } from "./queries.ts"

/** Texts up to this size are shown. */
const mostText = 256 * 1024
const isText = /^(?:text\/|application\/(?:json|xml|javascript|x-ndjson|yaml|sql)|image\/svg)/

const Text = ({ url }: { url: string }) => {
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
  if (text.isLoadingError) return <Problem error={text.error} title="The text could not be read" />
  return (
    // It scrolls by itself, so it must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="storage-text" tabIndex={0} role="region" aria-label="Content">
      {text.data}
    </pre>
  )
}

interface ContentProps {
  readonly file: StoredFile
  readonly name: string
  /** Whether the store lets this page read. What the browser shows by itself needs no permission. */
  readonly allowed: boolean
}

/** The content of a file by its type. Pages and drawings with scripts are shown as text or as images only. */
export const Content = ({ allowed, file: { size, type, url }, name }: ContentProps) => {
  if (type.startsWith("image/")) return <img className="storage-image" src={url} alt={`Content of ${name}`} />
  if (type.startsWith("video/")) {
    // What people upload has no captions of ours.
    // oxlint-disable-next-line jsx-a11y/media-has-caption
    return <video className="storage-image" src={url} controls preload="metadata" aria-label={`Content of ${name}`} />
  }
  if (type.startsWith("audio/")) {
    // oxlint-disable-next-line jsx-a11y/media-has-caption
    return <audio className="storage-audio" src={url} controls preload="metadata" aria-label={`Content of ${name}`} />
  }
  if (/^application\/pdf\b/.test(type)) {
    return <iframe className="storage-pdf" src={url} title={`Content of ${name}`} referrerPolicy="no-referrer" />
  }
  if (!isText.test(type) || size > mostText) {
    return <p className="hint">Files of this type or size are not shown here: open it.</p>
  }
  return allowed ? (
    <Text url={url} />
  ) : (
    <p className="hint">Its text is shown once this page is allowed to use the bucket.</p>
  )
}
