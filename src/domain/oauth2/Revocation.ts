/**
 * Statements that end what apps may do for the user $1, by table: grants, codes, tokens and remembered sign-ins, and requests
 * in which the user has signed in already. They run in the transaction that changes the account.
 */
export const revocations: Readonly<Record<string, ReadonlyArray<string>>> = {
  "svc.oauth2_items": [
    "delete from svc.oauth2_items where account_id = $1 returning 1",
    "delete from svc.oauth2_items where kind = 'Interaction' and strpos(payload, $1) > 0 returning 1"
  ],
  "svc.oauth2_answers": ["delete from svc.oauth2_answers where strpos(result, $1) > 0 returning 1"],
  "svc.oauth2_logouts": ["delete from svc.oauth2_logouts where subject = $1 returning 1"],
  "svc.oauth2_consents": ["delete from svc.oauth2_consents where subject = $1 returning 1"]
}
