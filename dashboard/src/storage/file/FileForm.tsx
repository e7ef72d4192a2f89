import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { toast } from "../../ui/toast.ts"
import { call } from "../../wire/call.ts"
import { Pairs, pairsOf, recordOf, twice } from "./Pairs.tsx"
import type { StoredFile } from "./queries.ts"

interface FileFormProps {
  readonly bucket: string
  readonly objectKey: string
  readonly file: StoredFile
  /** Undefined: the store has none. */
  readonly tags: Readonly<Record<string, string>> | undefined
  readonly onClose: () => void
}

/** As many as fit in the 2 KiB of S3. */
const mostNames = 50
const mostTags = 10

/** What is new or different, and null for what is gone. */
const changesOf = (now: Readonly<Record<string, string>>, was: Readonly<Record<string, string>>) =>
  Object.fromEntries([
    ...Object.entries(now).filter(([name, value]) => was[name] !== value),
    ...Object.keys(was)
      .filter((name) => !(name in now))
      .map((name) => [name, null])
  ]) as Readonly<Record<string, string | null>>

const same = (one: object, other: object) => JSON.stringify(one) === JSON.stringify(other)

/** Type, metadata and tags of a file. Its content stays. */
export const FileForm = ({ bucket, file, objectKey, onClose, tags }: FileFormProps) => {
  const client = useQueryClient()
  const [type, setType] = useState(file.type)
  const [disposition, setDisposition] = useState(file.disposition)
  const [metadata, setMetadata] = useState(() => pairsOf(file.metadata))
  const [tagged, setTagged] = useState(() => pairsOf(tags ?? {}))
  const double = twice(metadata.map(([name, value]) => [name.toLowerCase(), value])) ?? twice(tagged)
  const run = () => {
    if (double !== undefined) return undefined
    const params = { bucket }
    const now = Object.fromEntries(
      Object.entries(recordOf(metadata)).map(([name, value]) => [name.toLowerCase(), value])
    )
    const changes = {
      ...(type === file.type ? {} : { contentType: type }),
      ...(disposition === file.disposition ? {} : { contentDisposition: disposition === "" ? null : disposition }),
      metadata: changesOf(now, file.metadata)
    }
    const save = async () => {
      if (!same(changes, { metadata: {} })) {
        const payload = { key: objectKey, ...changes }
        await call("PATCH /api/storage/buckets/:bucket/objects/metadata", { params, payload })
      }
      if (tags !== undefined && !same(recordOf(tagged), tags)) {
        const payload = { key: objectKey, tags: recordOf(tagged) }
        await call("PUT /api/storage/buckets/:bucket/objects/tags", { params, payload })
      }
      await Promise.all([
        client.invalidateQueries({ queryKey: ["object", bucket, objectKey] }),
        client.invalidateQueries({ queryKey: ["object-tags", bucket, objectKey] })
      ])
      toast("Saved; the content is unchanged")
      onClose()
    }
    return save()
  }
  return (
    <FormDialog
      title="Metadata and tags"
      verb="Save"
      failed="Not all of it was saved"
      disabled={double !== undefined || type.trim() === ""}
      run={run}
      onClose={onClose}
    >
      <Field label="Content type" value={type} autoComplete="off" spellCheck={false} onText={setType} />
      <Field
        label="Content disposition"
        value={disposition}
        placeholder={'attachment; filename="report.pdf"'}
        hint="Empty: browsers show what they can show."
        autoComplete="off"
        spellCheck={false}
        onText={setDisposition}
      />
      <Pairs label="Metadata" noun="metadata" pairs={metadata} most={mostNames} onPairs={setMetadata} />
      {tags === undefined ? (
        <p className="hint">This object store has no tags.</p>
      ) : (
        <Pairs label="Tags" noun="tag" pairs={tagged} most={mostTags} onPairs={setTagged} />
      )}
      {double === undefined ? null : (
        <div className="field-problem" role="alert">
          The name {double} stands twice.
        </div>
      )}
    </FormDialog>
  )
}
