# SPDX-License-Identifier: Apache-2.0
"""ReFrame's waiting time after a launch: the session's poll rate reaches ReFrame."""

import subprocess
import sys
from pathlib import Path

from fabricbench.launch.session import Session
from fabricbench.runner.session import POLLS_PER_SECOND, Start
from support.processes import clean_environment


def test_a_session_polls_more_often_than_reframe_by_default(tmp_path: Path) -> None:
    session = Session(campaign=str(tmp_path), block=0, session=0, seed=1, lanes=())
    start = Start(session=session, system="local", arguments=(), mark="", request=None)
    reframe = [str(Path(sys.executable).with_name("reframe")), "--show-config=general/0/poll_rate_max"]
    rates = [
        float(subprocess.run(reframe, env=env, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
        for env in (clean_environment() | start.environment(), clean_environment())
    ]
    assert rates == [float(POLLS_PER_SECOND), 10.0]
