import { useState } from "react"
import { Confirm } from "../ui/Confirm.tsx"
import { count, plural } from "../ui/format.ts"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"

interface DeleteObjectsProps {
  readonly bucket: string
  /** Folders end with a slash. */
  readonly keys: ReadonlyArray<string>
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** Keys of one bulk delete, and of one page of a listing. */
const atOnce = 1000

const deleteKeys = async (bucket: string, keys: ReadonlyArray<string>) => {
  if (keys.length === 0) return
  const params = { bucket }
  const { errors } = await call("POST /api/storage/buckets/:bucket/objects/bulk-delete", { params, payload: { keys } })
  const [first] = errors
  if (first !== undefined) {
    throw new Error(`The object store did not delete ${plural(errors.length, "file")}: ${first.key}: ${first.message}`)
  }
}

const deleteFolder = async (bucket: string, prefix: string, onDeleted: (files: number) => void) => {
  for (;;) {
    // Always the first page: those before it are gone.
    const { is_truncated, objects } = await call("GET /api/storage/buckets/:bucket/objects/", {
      params: { bucket },
      query: { prefix, max_keys: atOnce }
    })
    await deleteKeys(
      bucket,
      objects.map(({ key }) => key)
    )
    onDeleted(objects.length)
    if (!is_truncated || objects.length === 0) return
  }
}

export const DeleteObjects = ({ bucket, keys, onClose, onDeleted }: DeleteObjectsProps) => {
  const folders = keys.filter((key) => key.endsWith("/"))
  const files = keys.filter((key) => !key.endsWith("/"))
  const [gone, setGone] = useState(0)
  const what = [
    ...(files.length === 0 ? [] : [plural(files.length, "file")]),
    ...(folders.length === 0 ? [] : [plural(folders.length, "folder")])
  ].join(" and ")
  const run = async () => {
    let total = 0
    const add = (some: number) => {
      total += some
      setGone(total)
    }
    try {
      for (let at = 0; at < files.length; at += atOnce) {
        const some = files.slice(at, at + atOnce)
        await deleteKeys(bucket, some)
        add(some.length)
      }
      for (const folder of folders) await deleteFolder(bucket, folder, add)
      toast(`${plural(total, "file")} deleted`)
    } finally {
      // After a failure as well: some of them may be gone.
      onDeleted()
    }
  }
  return (
    <Confirm
      title={`Delete ${what}?`}
      verb={`Delete ${what}`}
      name={folders.length > 0 || files.length > 1 ? bucket : undefined}
      onClose={onClose}
      run={run}
    >
      <ul className="storage-gone">
        {keys.slice(0, 5).map((key) => (
          <li key={key}>
            <code>{key}</code>
          </li>
        ))}
        {keys.length > 5 ? <li>and {count(keys.length - 5)} more</li> : null}
      </ul>
      <p>
        {folders.length === 0 ? "" : "A folder goes with everything in it. "}
        This can&apos;t be undone.
      </p>
      {gone === 0 ? null : <p role="status">{plural(gone, "file")} deleted so far</p>}
    </Confirm>
  )
}
