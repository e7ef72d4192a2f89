import "./people.css"
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { AddressSearch } from "./AddressSearch.tsx"
import { Elsewhere } from "./Elsewhere.tsx"
import { isElsewhere, type Mail, useMails, useMethods } from "./queries.ts"

const State = ({ delivers, mail }: { delivers: boolean; mail: Mail }) =>
  mail.sent_at !== null ? (
    <span className="named">
      <span className="badge good">sent</span> <When at={mail.sent_at} />
    </span>
  ) : mail.failure !== null ? (
    <span className="named">
      <span className="badge bad">failed</span> <span className="failed">{mail.failure}</span>
    </span>
  ) : (
    <span className="badge warn">{delivers ? "waiting" : "not sent"}</span>
  )

const columnsOf = (
  delivers: boolean,
  read: (mail: Mail) => void,
  resend: (mail: Mail) => void
): ReadonlyArray<ListColumn<Mail>> => [
  { name: "To", cell: ({ recipient }) => <b className="named">{recipient}</b> },
  { name: "Subject", cell: ({ subject }) => subject },
  { name: "State", cell: (mail) => <State delivers={delivers} mail={mail} /> },
  { name: "Attempts", end: true, cell: ({ attempts }) => attempts },
  { name: "Written", cell: ({ created_at }) => <When at={created_at} /> },
  {
    name: "Actions",
    actions: true,
    cell: (mail) =>
      mail.body === null ? (
        <span className="faint">text deleted</span>
      ) : (
        <>
          <Button kind="quiet" onClick={() => read(mail)}>
            Read
          </Button>
          {delivers ? (
            <Button kind="quiet" onClick={() => resend(mail)}>
              Send again
            </Button>
          ) : null}
        </>
      )
  }
]

export const MailsPage = () => {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { readonly recipient?: unknown }
  const recipient = typeof search.recipient === "string" ? search.recipient : ""
  const [shown, setShown] = useState<Mail>()
  const methods = useMethods()
  const elsewhere = isElsewhere(methods.error)
  const delivers = methods.data?.mail === true
  const mails = useMails(recipient, methods.isSuccess)
  const all = mails.data?.pages.flatMap((page) => page.mails) ?? []
  const failure = (methods.data === undefined ? methods.error : null) ?? (mails.data === undefined ? mails.error : null)
  const find = (text: string) =>
    void navigate({ to: "/mails", search: text === "" ? {} : { recipient: text }, replace: true })
  const resend = ({ id }: Mail) =>
    void call("POST /api/mails/:id/resend", { params: { id } })
      .then(() => toast("The message will be sent again"))
      .catch(toastError)
      .then(() => queries.invalidateQueries({ queryKey: ["mails"] }))
  return (
    <div className="page">
      <div className="page-head">
        <h2>Mails</h2>
        <CopyRequest path={`/api/mails${recipient === "" ? "" : `?recipient=${encodeURIComponent(recipient)}`}`} />
      </div>
      {elsewhere ? null : (
        <p className="lead">
          What the service writes to people: confirmations, recovery, news of their account. Texts are deleted after a
          day.
        </p>
      )}
      {methods.data?.mail === false ? (
        <p className="note">
          No e-mail is sent: <code>SMTP_URL</code> is not set. Messages are kept here, where you can read them. Set it
          to your mail server, such as <code>smtps://user:password@mail.example.com</code>, and restart.
        </p>
      ) : null}
      {!methods.isSuccess || (mails.isSuccess && all.length === 0 && recipient === "") ? null : (
        <AddressSearch label="Recipient" address={recipient} onSearch={find} />
      )}
      {elsewhere ? (
        <Elsewhere error={methods.error} />
      ) : failure !== null ? (
        <Problem
          error={failure}
          title="The mails could not be read"
          onRetry={() => void (methods.isError ? methods : mails).refetch()}
        />
      ) : mails.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : all.length > 0 ? (
        <>
          <List label="Mails" columns={columnsOf(delivers, setShown, resend)} rows={all} keyOf={({ id }) => id} />
          {mails.hasNextPage ? (
            <p className="list-foot">
              <Button busy={mails.isFetchingNextPage} onClick={() => void mails.fetchNextPage()}>
                Show more
              </Button>
            </p>
          ) : null}
        </>
      ) : recipient === "" ? (
        <Empty icon="mail" title="No mails">
          When people sign up, confirm an address or recover their account, the messages to them are listed here.
        </Empty>
      ) : (
        <Empty icon="search" title="No mail found" action={<Button onClick={() => find("")}>Show all mails</Button>}>
          Nothing was written to {recipient}. Search for the whole address.
        </Empty>
      )}
      {shown === undefined ? null : (
        <Dialog label={shown.subject} className="wide" onClose={() => setShown(undefined)}>
          <DialogBody
            title={shown.subject}
            buttons={
              <Button kind="main" onClick={() => setShown(undefined)}>
                Close
              </Button>
            }
          >
            <p className="note">Its link and code act for {shown.recipient}. Don&apos;t open them for anyone else.</p>
            <pre className="code people-json">{shown.body}</pre>
          </DialogBody>
        </Dialog>
      )}
    </div>
  )
}
