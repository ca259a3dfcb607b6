# SPDX-License-Identifier: Apache-2.0
"""The model of a site: systems, fabrics, stacks, lanes and requirements.

Imported by attestation, campaign, cli, discovery, doctor, inputs, launch, report, runner, setup, slurm, verdict, the
checks and site/.
"""
