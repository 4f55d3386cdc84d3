"""The clustering task: an agent moves sprites until those of similar colours are together.

The world of Watters et al. 2019 (COBRA; configurations of Spriteworld), of which Duan et al. 2020,
appendix A.8, and Holtz et al. 2022, section 4, ask how many steps an agent needs to learn the task.
"""
