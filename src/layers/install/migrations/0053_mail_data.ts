import { statements } from "./statements.ts"

/** What a hook that sends mails gets of one. It is deleted with the mail's text. */
export const mailData = statements("alter table svc.mails add column data jsonb")
