import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { moment } from "../../ui/format.ts"
import { useAction } from "../../ui/FormDialog.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { copy } from "../../ui/toast.ts"
import { call } from "../../wire/call.ts"

const lifetimes: ReadonlyArray<readonly [seconds: number, words: string]> = [
  [900, "15 minutes"],
  [3600, "1 hour"],
  [86_400, "1 day"],
  [604_800, "7 days"]
]

interface LinkFormProps {
  readonly bucket: string
  readonly objectKey: string
  readonly onClose: () => void
}

/** A link that works for anyone until it expires. */
export const LinkForm = ({ bucket, objectKey, onClose }: LinkFormProps) => {
  const [seconds, setSeconds] = useState(3600)
  const [link, setLink] = useState<{ readonly url: string; readonly expires_at: string }>()
  const { busy, failure, go } = useAction(async () =>
    setLink(
      await call("POST /api/storage/buckets/:bucket/objects/presign-download", {
        params: { bucket },
        payload: { key: objectKey, expiresIn: seconds }
      })
    )
  )
  return (
    <Dialog label="Presigned link" onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          go()
        }}
      >
        <h2>Presigned link</h2>
        <p>Anyone who has the link can read the file until it expires. It can&apos;t be withdrawn before.</p>
        <fieldset className="choices">
          <legend>Valid for</legend>
          {lifetimes.map(([value, words]) => (
            <label key={value}>
              <input
                type="radio"
                name="seconds"
                checked={seconds === value}
                onChange={() => {
                  setSeconds(value)
                  setLink(undefined)
                }}
              />
              {words}
            </label>
          ))}
        </fieldset>
        {link === undefined ? null : (
          <>
            <code className="secret">{link.url}</code>
            <p className="hint">Expires {moment(link.expires_at)}.</p>
          </>
        )}
        {failure === undefined ? null : <Problem error={failure} title="The link was not made" />}
        <footer>
          <Button onClick={onClose}>Close</Button>
          {link === undefined ? (
            <Button kind="main" type="submit" busy={busy}>
              Make link
            </Button>
          ) : (
            <Button kind="main" icon="copy" onClick={() => void copy(link.url, "Link")}>
              Copy link
            </Button>
          )}
        </footer>
      </form>
    </Dialog>
  )
}
