"""What an app made for supabase-py does; prints what it got as one JSON object."""

import asyncio
import json
import os

from httpx import AsyncClient
from supabase import AsyncClientOptions, acreate_client

given = json.loads(os.environ["SVC_TEST_CLIENT"])
got = {}


async def client():
    # Shared machines stall for longer than the client's defaults.
    patient = {"storage_client_timeout": 40, "function_client_timeout": 40, "httpx_client": AsyncClient(timeout=40)}
    return await acreate_client(given["url"], given["anon"], AsyncClientOptions(auto_refresh_token=False, **patient))


async def until(ready, what):
    for _ in range(1000):
        if ready():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(what)


async def joined(channel):
    states = []
    await channel.subscribe(lambda state, error: states.append(state.value))
    await until(lambda: "SUBSCRIBED" in states, "SUBSCRIBED")


async def auth(mine):
    credentials = {"email": "ann@example.com", "password": "correct horse battery"}
    made = await mine.auth.sign_up({**credentials, "options": {"data": {"name": "Ann"}}})
    got["user"] = made.user.id
    await mine.auth.sign_out()
    try:
        await mine.auth.sign_in_with_password({**credentials, "password": "wrong"})
    except Exception as error:
        got["wrong"] = error.code
    session = (await mine.auth.sign_in_with_password(credentials)).session
    renewed = (await mine.auth.refresh_session(session.refresh_token)).session
    got["renewed"] = renewed.refresh_token != session.refresh_token
    changed = await mine.auth.update_user({"data": {"name": "Anna"}})
    got["name"] = changed.user.user_metadata["name"]
    got["known"] = (await mine.auth.get_user()).user.email
    return made.user.id, renewed.access_token


async def rest(mine, nobody):
    table = mine.table("py_todos")
    made = await table.insert([{"id": 1, "title": "a"}, {"id": 2, "title": "b"}]).execute()
    got["inserted"] = made.data
    got["updated"] = (await table.update({"title": "c"}).eq("id", 2).execute()).data
    found = await table.select("title", count="exact").order("id", desc=True).limit(1).execute()
    got["selected"] = [found.data, found.count]
    got["hidden"] = (await nobody.table("py_todos").select("*").execute()).data
    got["rpc"] = (await mine.rpc("py_add", {"a": 2, "b": 3}).execute()).data
    try:
        await table.insert({"id": 1}).execute()
    except Exception as error:
        got["refused"] = error.code


async def storage(mine, nobody, user):
    files = mine.storage.from_("py")
    path = f"{user}/notes/a.txt"
    await files.upload(path, b"hello", {"content-type": "text/plain"})
    got["downloaded"] = (await files.download(path)).decode()
    got["listed"] = [one["name"] for one in await files.list(f"{user}/notes")]
    got["signed"] = "token=" in (await files.create_signed_url(path, 60))["signedURL"]
    try:
        await nobody.storage.from_("py").download(path)
    except Exception as error:
        got["unseen"] = error.code
    got["removed"] = [one["name"] for one in await files.remove([path])]


async def realtime(mine, nobody, token):
    changes, messages, system = [], [], []
    await mine.realtime.set_auth(token)
    list_ = mine.channel("list")
    list_.on_postgres_changes("*", lambda change: changes.append(change["data"]), schema="public", table="py_todos")
    list_.on_system(system.append)
    await joined(list_)
    await until(lambda: system, "the subscription")
    await mine.table("py_todos").insert({"id": 3, "title": "live"}).execute()
    # Policies are asked about the row as it is then.
    await until(lambda: changes, "the new row")
    await mine.table("py_todos").delete().eq("id", 3).execute()
    await until(lambda: len(changes) == 2, "the changes")
    got["changes"] = [[one["type"], one.get("record"), one.get("old_record")] for one in changes]

    room, other = mine.channel("room"), nobody.channel("room")
    room.on_broadcast("hi", messages.append)
    present = []
    room.on_presence_sync(lambda: present.append(room.presence_state()))
    await joined(room)
    await joined(other)
    await other.send_broadcast("hi", {"text": "Grüße"})
    await until(lambda: messages, "the message")
    got["message"] = messages[0]["payload"]
    await room.track({"name": "Ann"})
    await until(lambda: any(len(state) == 1 for state in present), "the presence")
    got["present"] = [meta["name"] for metas in room.presence_state().values() for meta in metas]
    await mine.remove_all_channels()
    await nobody.remove_all_channels()


async def main():
    mine, nobody = await client(), await client()
    user, token = await auth(mine)
    await rest(mine, nobody)
    await storage(mine, nobody, user)
    answer = await mine.functions.invoke("echo", {"body": {"name": "Ann"}})
    got["function"] = json.loads(answer)
    await realtime(mine, nobody, token)
    print(json.dumps(got))


asyncio.run(main())
