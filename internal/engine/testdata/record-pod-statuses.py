#!/usr/bin/env python3
"""Prints every change of the statuses of pods, with the time: pod-statuses.log is from a kubelet 1.36."""
import json, subprocess, sys, time
p = subprocess.Popen(["kubectl", "get", "pods", "-A", "-w", "-o", "json"], stdout=subprocess.PIPE, text=True)
d, buf, last = json.JSONDecoder(), "", {}
for line in p.stdout:
    buf += line
    if line != "}\n":
        continue
    o = json.loads(buf); buf = ""
    for o in o.get("items", [o]):
        def st(c):
            (k, v), = (c["state"] or {"-": {}}).items()
            l = c.get("lastState", {}).get("terminated")
            return f"{c['name']}:{k}/{v.get('reason','')}" + (f"({v.get('exitCode')})" if k == "terminated" else "") + f" r{c['restartCount']}" + ("+" if c["ready"] else "-") + (f" last={l['reason']}({l['exitCode']})" if l else "")
        s = o["status"]
        t = f"{o['metadata']['namespace']}/{o['metadata']['name'][-5:]} {s.get('phase')} {s.get('reason','')} " + " | ".join(st(c) for c in s.get("initContainerStatuses", []) + s.get("containerStatuses", [])) + (" DELETING" if "deletionTimestamp" in o["metadata"] else "")
        if last.get(o["metadata"]["uid"]) != t:
            last[o["metadata"]["uid"]] = t
            print(time.strftime("%H:%M:%S"), t, flush=True)
