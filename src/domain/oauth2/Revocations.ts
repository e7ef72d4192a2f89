/**
 * A statement that ends sessions of the OAuth 2.0 server, and lists the clients to notify of that. `condition` selects them
 * among rows of svc.oauth2_items. Returns a row for each.
 */
export const endSessions = (condition: string) => `
  with ended as (
    delete from svc.oauth2_items where kind = 'Session' and ${condition} returning account_id, sids, expires_at),
  notices as (
    insert into svc.oauth2_logout_notices (client_id, subject, sid)
    select c.id, ended.account_id, known.value
    from ended, jsonb_each_text(ended.sids) known join svc.oauth2_clients c on c.id = known.key
    where ended.account_id is not null and ended.expires_at > now()
      and c.fields::json ->> 'backchannel_logout_uri' <> '')
  select 1 as one from ended`

/**
 * Statements that end what apps may do for the user $1, by table: grants, codes, tokens and remembered sign-ins, and requests
 * in which the user has signed in already. They run in the transaction that changes the account.
 */
export const revocations: Readonly<Record<string, ReadonlyArray<string>>> = {
  "svc.oauth2_items": [
    endSessions("account_id = $1"),
    "delete from svc.oauth2_items where account_id = $1 returning 1",
    "delete from svc.oauth2_items where kind = 'Interaction' and strpos(payload, $1) > 0 returning 1"
  ],
  "svc.oauth2_answers": ["delete from svc.oauth2_answers where strpos(result, $1) > 0 returning 1"],
  "svc.oauth2_logouts": ["delete from svc.oauth2_logouts where subject = $1 returning 1"],
  "svc.oauth2_consents": ["delete from svc.oauth2_consents where subject = $1 returning 1"]
}
