import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { JsonField } from "../ui/json/JsonField.tsx"
import { call } from "../wire/call.ts"
import { parseFaithful } from "../wire/exact.ts"

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: parseFaithful(text) }
  } catch {
    return undefined
  }
}

/** Sends one message to a queue. */
export const SendForm = ({ onClose, onSent, queue }: { queue: string; onClose: () => void; onSent: () => void }) => {
  const [text, setText] = useState("{}")
  const [delay, setDelay] = useState("0")
  const [group, setGroup] = useState("")
  const [checked, setChecked] = useState(false)
  const message = parsed(text)
  const delayProblem = /^\d{1,8}$/.test(delay) && Number(delay) <= 31_536_000 ? undefined : "Seconds, up to a year"
  const send = async (value: unknown) => {
    await call("POST /api/queues/:queue/messages", {
      params: { queue },
      payload: { message: value as never, delay: Number(delay), ...(group === "" ? {} : { group }) }
    })
    onSent()
  }
  return (
    <FormDialog
      title={`Send to ${queue}`}
      verb="Send message"
      failed="The message was not sent"
      run={() => {
        setChecked(true)
        return message === undefined || delayProblem !== undefined ? undefined : send(message.value)
      }}
      onClose={onClose}
    >
      <JsonField
        label="Message"
        text={text}
        rows={6}
        problem={checked && message === undefined ? "The message is not valid JSON" : undefined}
        onText={setText}
      />
      <Field
        label="Delay in seconds"
        value={delay}
        inputMode="numeric"
        problem={checked ? delayProblem : undefined}
        onText={setDelay}
      />
      <Field
        label="Group"
        value={group}
        maxLength={128}
        placeholder="none"
        hint="Messages of a group can be received in order"
        onText={setGroup}
      />
    </FormDialog>
  )
}
