import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Confirm.tsx"
import { Dialog, DialogBody } from "../../ui/Dialog.tsx"
import { Field } from "../../ui/Field.tsx"
import { FormDialog, useAction } from "../../ui/FormDialog.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { copy, toast } from "../../ui/toast.ts"
import { call } from "../../wire/call.ts"

const fileOf = (key: string) =>
  `Recovery key of ${location.host}, made ${new Date().toISOString()}\n\n${key}\n\nIt opens the archive of the write-ahead log without the installation's own secrets:\nnpm run recover\n`

/** Saves it without a request, as a file of the browser. */
const download = (key: string) => {
  const url = URL.createObjectURL(new Blob([fileOf(key)], { type: "text/plain" }))
  const link = document.createElement("a")
  link.href = url
  link.download = `recovery-key-${location.hostname}.txt`
  link.click()
  URL.revokeObjectURL(url)
}

interface OnceProps {
  readonly secret: string
  readonly onKept: () => Promise<void>
  readonly onClose: () => void
}

/** Shown once. "I have kept it" confirms it to the service, which else goes on asking. */
const KeyOnce = ({ onClose, onKept, secret }: OnceProps) => {
  const title = "Keep this recovery key elsewhere"
  const { busy, failure, go } = useAction(onKept)
  return (
    <Dialog label={title}>
      <DialogBody
        title={title}
        buttons={
          <>
            <Button icon="copy" onClick={() => void copy(secret, "Recovery key")}>
              Copy
            </Button>
            <Button icon="download" onClick={() => download(secret)}>
              Download
            </Button>
            <Button onClick={onClose}>Confirm later</Button>
            <Button kind="main" busy={busy} onClick={go}>
              I have kept it
            </Button>
          </>
        }
      >
        <p>
          It is shown only now and stored nowhere. With it and the archive alone the installation can be made again.
          Keep it in a password manager or on paper, not on this machine.
        </p>
        <code className="secret">{secret}</code>
        {failure === undefined ? null : <Problem error={failure} title="The key was not confirmed" />}
      </DialogBody>
    </Dialog>
  )
}

const ConfirmKey = ({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) => {
  const [key, setKey] = useState("")
  const [checked, setChecked] = useState(false)
  const confirm = async () => {
    await call("POST /api/backups/pitr/key/confirm", { payload: { recovery_key: key } })
    onDone()
  }
  return (
    <FormDialog
      title="Confirm the recovery key"
      verb="Confirm"
      failed="The key was not confirmed"
      run={() => {
        setChecked(true)
        return key.trim() === "" ? undefined : confirm()
      }}
      onClose={onClose}
    >
      <Field
        label="Recovery key"
        value={key}
        autoComplete="off"
        spellCheck={false}
        hint="As you have kept it: 56 characters in groups of four."
        problem={checked && key.trim() === "" ? "Enter the recovery key" : undefined}
        onText={setKey}
      />
    </FormDialog>
  )
}

type Open = { readonly tag: "confirm" | "replace" } | { readonly tag: "once"; readonly secret: string }

interface RecoveryKeyState {
  readonly made: boolean
  readonly kept: boolean
}

/**
 * The buttons to make the key, to confirm it and to replace it, and their dialogs. The buttons stand elsewhere once the key
 * is confirmed, and again when it is replaced; the dialogs, one of which has the only copy of a key, stay where they are.
 */
export const useRecoveryKey = ({ kept, made }: RecoveryKeyState) => {
  const client = useQueryClient()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const read = () => client.invalidateQueries({ queryKey: ["protection"], exact: true })
  const make = async () => {
    const { recovery_key } = await call("POST /api/backups/pitr/key")
    setOpen({ tag: "once", secret: recovery_key })
    void read()
  }
  const { busy, failure, go } = useAction(make)
  const done = () => {
    toast("Recovery key confirmed")
    close()
    void read()
  }
  const buttons = made ? (
    <>
      {kept ? null : (
        <Button kind="main" onClick={() => setOpen({ tag: "confirm" })}>
          Confirm the key
        </Button>
      )}
      <Button onClick={() => setOpen({ tag: "replace" })}>Make another key</Button>
    </>
  ) : (
    <>
      <Button kind="main" icon="key" busy={busy} onClick={go}>
        Make a recovery key
      </Button>
      {failure === undefined ? null : <Problem error={failure} title="The key was not made" />}
    </>
  )
  const dialogs = (
    <>
      {open?.tag === "confirm" ? <ConfirmKey onClose={close} onDone={done} /> : null}
      {open?.tag === "replace" ? (
        // Its own closing must not close the key, which takes its place.
        <Confirm
          title="Make another recovery key?"
          verb="Make another key"
          onClose={() => setOpen((now) => (now?.tag === "replace" ? undefined : now))}
          run={make}
        >
          <p>The present one no longer opens the archive then, wherever it is kept. It can&apos;t be brought back.</p>
        </Confirm>
      ) : null}
      {open?.tag === "once" ? (
        <KeyOnce
          secret={open.secret}
          onClose={close}
          onKept={async () => {
            await call("POST /api/backups/pitr/key/confirm", { payload: { recovery_key: open.secret } })
            done()
          }}
        />
      ) : null}
    </>
  )
  return { buttons, dialogs }
}
